//! The `Date` field's value, made once a second (RFC 9110, section 5.6.7).

/// Number of bytes of an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub const HTTP_DATE_LENGTH: usize = 29;

/// The last second of the year 9999, the last that has a four-digit year.
const LAST_SECOND: u64 = 253_402_300_799;

/// The date of the last second asked for, as text.
#[derive(Clone, Debug)]
pub struct DateCache {
    unix_seconds: u64,
    text: [u8; HTTP_DATE_LENGTH],
}

impl Default for DateCache {
    fn default() -> Self {
        Self::new()
    }
}

impl DateCache {
    /// A cache that holds the start of 1970.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            unix_seconds: 0,
            text: *b"Thu, 01 Jan 1970 00:00:00 GMT",
        }
    }

    /// The text for a time in seconds since 1970 (years up to 9999; later times are told as the end of 9999).
    #[inline]
    pub fn update(&mut self, unix_seconds: u64) -> &[u8; HTTP_DATE_LENGTH] {
        if unix_seconds != self.unix_seconds {
            self.unix_seconds = unix_seconds;
            self.text = format(unix_seconds.min(LAST_SECOND));
        }
        &self.text
    }

    /// The text of the last update.
    #[must_use]
    pub const fn text(&self) -> &[u8; HTTP_DATE_LENGTH] {
        &self.text
    }
}

#[cold]
fn format(unix_seconds: u64) -> [u8; HTTP_DATE_LENGTH] {
    const WEEKDAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let days = unix_seconds / 86_400;
    let second = unix_seconds % 86_400;
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[0..3].copy_from_slice(WEEKDAYS[(days % 7) as usize]);
    text[5..7].copy_from_slice(&two_digits(day));
    text[8..11].copy_from_slice(MONTHS[(month - 1) as usize % 12]);
    text[12..14].copy_from_slice(&two_digits(year / 100));
    text[14..16].copy_from_slice(&two_digits(year % 100));
    text[17..19].copy_from_slice(&two_digits(second / 3600));
    text[20..22].copy_from_slice(&two_digits(second / 60 % 60));
    text[23..25].copy_from_slice(&two_digits(second % 60));
    text
}

/// Year, month (1 to 12) and day of the Gregorian calendar, from days since 1970. Years begin in March here, so that
/// the leap day is their last; 719,468 days lie between year 0's first of March and 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_PER_ERA: u64 = 146_097;
    let days = days + 719_468;
    let era = days / DAYS_PER_ERA;
    let day_of_era = days % DAYS_PER_ERA;
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

fn two_digits(number: u64) -> [u8; 2] {
    [b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]
}

#[cfg(test)]
mod tests {
    use super::DateCache;

    #[test]
    fn dates_are_imf_fixdates() {
        let mut cache = DateCache::new();
        for (seconds, text) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (1_709_251_200, "Fri, 01 Mar 2024 00:00:00 GMT"),
            (1_795_305_599, "Sat, 21 Nov 2026 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(cache.update(seconds), text.as_bytes(), "{seconds}");
            assert_eq!(cache.text(), text.as_bytes());
        }
    }
}
