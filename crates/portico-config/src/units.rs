//! Durations and sizes as text: a whole number and a unit, nothing else. `"30s"`, `"64KiB"`.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

const SIZE_UNITS: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1024),
    ("MiB", 1024 * 1024),
    ("GiB", 1024 * 1024 * 1024),
];

pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    parse(text, &DURATION_UNITS).map(Duration::from_millis)
}

pub(crate) fn show_duration(duration: Duration) -> String {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    show(milliseconds, &DURATION_UNITS)
}

pub(crate) fn parse_size(text: &str) -> Option<u64> {
    parse(text, &SIZE_UNITS)
}

pub(crate) fn show_size(bytes: u64) -> String {
    show(bytes, &SIZE_UNITS)
}

fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// In the largest unit that needs no fraction.
fn show(value: u64, units: &[(&str, u64)]) -> String {
    let (unit, factor) = units
        .iter()
        .rev()
        .find(|(_, factor)| value.is_multiple_of(*factor) && value >= *factor)
        .copied()
        .unwrap_or((units.first().map_or("", |(name, _)| name), 1));
    format!("{}{unit}", value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_with_a_unit_is_a_duration_and_nothing_else_is() {
        for (text, milliseconds) in [
            ("0s", Some(0)),
            ("250ms", Some(250)),
            ("30s", Some(30_000)),
            ("5m", Some(300_000)),
            ("1h", Some(3_600_000)),
            ("", None),
            ("s", None),
            ("5", None),
            ("5 s", None),
            (" 5s", None),
            ("-5s", None),
            ("1.5s", None),
            ("5S", None),
            ("5sec", None),
            ("1m30s", None),
            ("\u{663}s", None),
            ("99999999999999999999s", None),
            ("9999999999999999h", None),
        ] {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }

    #[test]
    fn a_whole_number_with_a_unit_is_a_size_and_nothing_else_is() {
        for (text, bytes) in [
            ("0B", Some(0)),
            ("512B", Some(512)),
            ("64KiB", Some(65_536)),
            ("8MiB", Some(8_388_608)),
            ("2GiB", Some(2_147_483_648)),
            ("64KB", None),
            ("64kib", None),
            ("64K", None),
            ("64", None),
        ] {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
    }

    #[test]
    fn what_is_shown_parses_to_the_same() {
        for milliseconds in [0, 1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000] {
            let duration = Duration::from_millis(milliseconds);
            assert_eq!(parse_duration(&show_duration(duration)), Some(duration));
        }
        for bytes in [0, 1, 1023, 1024, 1025, 65_536, 1 << 20, 3 << 30] {
            assert_eq!(parse_size(&show_size(bytes)), Some(bytes));
        }
        assert_eq!(show_duration(Duration::from_secs(300)), "5m");
        assert_eq!(show_size(16 * 1024), "16KiB");
    }
}
