//! Dates as fields carry them (RFC 9110, section 5.6.7), in seconds since the start of 1970.

/// Reads a date in one of the three forms that recipients must accept, in seconds since 1970; those before are negative.
/// Names of days and months compare without regard to case; the zone is `GMT`. A day's name is not held against its
/// date. A year of two digits is the last of that ending that is at most 50 years ahead of
/// `now`, in seconds since 1970.
#[must_use]
pub fn parse(value: &[u8], now: i64) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    match text.split_once(", ") {
        Some((day, rest)) if day.len() == 3 => imf_fixdate(day, rest),
        Some((day, rest)) => rfc850_date(day, rest, now),
        None => asctime_date(text),
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(day: &str, rest: &str) -> Option<i64> {
    is_day(day, 3).then_some(())?;
    let mut parts = rest.split(' ');
    let date = (parts.next()?, parts.next()?, parts.next()?);
    let time = parts.next()?;
    is_end(parts)?;
    let year = digits(date.2, 4)?;
    seconds(year, month(date.1)?, digits(date.0, 2)?, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850_date(day: &str, rest: &str, now: i64) -> Option<i64> {
    is_day(day, usize::MAX).then_some(())?;
    let mut parts = rest.split(' ');
    let mut date = parts.next()?.split('-');
    let time = parts.next()?;
    is_end(parts)?;
    let (day, month_name, year) = (date.next()?, date.next()?, date.next()?);
    date.next().is_none().then_some(())?;
    let this_year = year_of(now);
    let mut year = this_year - this_year % 100 + digits(year, 2)?;
    if year > this_year + 50 {
        year -= 100;
    }
    seconds(year, month(month_name)?, digits(day, 2)?, time)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime_date(text: &str) -> Option<i64> {
    let (day, rest) = text.split_once(' ')?;
    is_day(day, 3).then_some(())?;
    let (month_name, rest) = rest.split_once(' ')?;
    let (day, rest) = rest.split_at_checked(2)?;
    let (time, year) = rest.strip_prefix(' ')?.split_once(' ')?;
    let day = match day.strip_prefix(' ') {
        Some(day) => digits(day, 1)?,
        None => digits(day, 2)?,
    };
    seconds(digits(year, 4)?, month(month_name)?, day, time)
}

fn is_end<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<()> {
    let is_gmt = parts.next()?.eq_ignore_ascii_case("GMT");
    (is_gmt && parts.next().is_none()).then_some(())
}

fn is_day(name: &str, letters: usize) -> bool {
    const DAYS: [&str; 7] = [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ];
    DAYS.iter().any(|day| {
        day.get(..letters.min(day.len()))
            .is_some_and(|day| day.eq_ignore_ascii_case(name))
    })
}

fn month(name: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let index = MONTHS
        .iter()
        .position(|month| month.eq_ignore_ascii_case(name))?;
    i64::try_from(index).ok().map(|index| index + 1)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Seconds since 1970 of a date of the Gregorian calendar and a time `hh:mm:ss`; a leap second is the one before it.
fn seconds(year: i64, month: i64, day: i64, time: &str) -> Option<i64> {
    let mut parts = time.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = digits(parts.next()?, 2)?.min(60);
    let is_time = parts.next().is_none() && hour < 24 && minute < 60;
    let is_date = (1..=days_of(year, month)).contains(&day);
    let of_day = hour * 3600 + minute * 60 + second.min(59);
    (is_time && is_date).then(|| days_before(year, month, day) * 86_400 + of_day)
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970 to a date; years begin in March here, so that a leap day is the last of its year.
const fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year of a moment, near enough to tell which century two digits mean.
const fn year_of(seconds: i64) -> i64 {
    1970 + seconds / 31_556_952
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h1::DateCache;

    const NOW: i64 = 1_795_000_000; // November 2026

    fn read(text: &str) -> Option<i64> {
        parse(text.as_bytes(), NOW)
    }

    #[test]
    fn all_three_forms_mean_the_same_second() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "SUN, 06 nov 1994 08:49:37 gmt",
        ] {
            assert_eq!(read(text), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn two_digits_of_a_year_are_at_most_fifty_years_ahead() {
        assert_eq!(
            read("Thursday, 18-Aug-50 02:01:18 GMT"),
            read("Thu, 18 Aug 2050 02:01:18 GMT")
        );
        assert_eq!(
            read("Thursday, 18-Aug-77 02:01:18 GMT"),
            read("Thu, 18 Aug 1977 02:01:18 GMT")
        );
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "0",
            "-1",
            "Thu, 18 Aug 2050 02:01:18 UTC",
            "Thu, 18 Aug 2050 02:01:18",
            "Thu, 18 Aug 50 02:01:18 GMT",
            "Thu 18 Aug 2050 02:01:18 GMT",
            "Thu, 18  Aug  2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18 Aug 2050 24:01:18 GMT",
            "Thu, 31 Feb 2050 02:01:18 GMT",
            "Thu, 00 Feb 2050 02:01:18 GMT",
            "Foo, 18 Aug 2050 02:01:18 GMT",
            "Thu, +8 Aug 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 GMT ",
            "Thu Aug 008 02:01:18 2050",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn each_date_that_is_written_reads_back() {
        let mut dates = DateCache::new();
        for seconds in (0..253_402_300_799).step_by(7_777_777) {
            let text = *dates.update(seconds);
            let read = parse(&text, NOW);
            assert_eq!(read, i64::try_from(seconds).ok(), "{seconds}");
        }
        assert_eq!(read("Wed, 31 Dec 1969 23:59:59 GMT"), Some(-1));
    }
}
