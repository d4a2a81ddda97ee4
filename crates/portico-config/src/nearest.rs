//! The name that was meant: the one with the fewest edits.

/// The nearest of `names`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = simplified(name);
    let limit = (wanted.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|candidate| (distance(&wanted, &simplified(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `keepAliveTimeout`, `keep-alive-timeout` and `keep_alive_timeout` are the same to a person.
fn simplified(name: &str) -> String {
    name.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Insertions, removals, replacements and swaps of neighbours that turn one into the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, &left) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &right) in to.iter().enumerate() {
            // `last` has one more entry than `to`, `current` has `column + 1` so far.
            let replaced = last[column] + usize::from(left != right);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0
                && column > 0
                && from.get(row - 1) == Some(&right)
                && to.get(column - 1) == Some(&left);
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = last;
        last = current;
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_edits_and_swaps() {
        for (from, to, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("timeout", "timout", 1),
            ("timeout", "tiemout", 1),
            ("ca", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        let names = ["socket", "shards", "drain_timeout"];
        assert_eq!(nearest("drainTimeout", names), Some("drain_timeout"));
        assert_eq!(nearest("drain-timout", names), Some("drain_timeout"));
        assert_eq!(nearest("shard", names), Some("shards"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("", names), None);
    }
}
