//! Chains that are good but for a few things, chosen by bytes.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "tests")]

use super::certificates::{AuthorityKeyId, NOW, Name, Recipe, authority, dns, leaf, mail, root};

/// What is put to a verifier.
#[derive(Clone, Debug)]
pub struct Scene {
    pub anchors: Vec<Recipe>,
    /// Leaf first.
    pub sent: Vec<Recipe>,
    /// Index of the issuer among `sent` and then `anchors`, what it revoked, and the years of the list.
    pub lists: Vec<(Recipe, Vec<u8>, (i32, i32))>,
    pub partial: bool,
    pub now: u64,
}

/// Bytes as choices; 0 when they are used up, which is the harmless choice everywhere.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A root, up to three authorities, a leaf; then changes, copies with changes, another order, lists.
pub fn compose(bytes: &[u8]) -> Scene {
    let mut choices = Choices(bytes);
    let mut line = vec![root("root", 0)];
    for (index, name) in ["one", "two", "three"]
        .iter()
        .enumerate()
        .take(choices.below(4))
    {
        let issuer = line.last().cloned().unwrap_or_else(|| root("root", 0));
        line.push(authority(name, index + 1, &issuer));
    }
    let issuer = line.last().cloned().unwrap_or_else(|| root("root", 0));
    let mut end = leaf("user.inside.test", 5, &issuer);
    end.names = choices.pick(&[
        vec![],
        vec![dns("a.inside.test")],
        vec![mail("a@inside.test")],
    ]);
    line.push(end);
    for _ in 0..choices.below(4) {
        let at = choices.below(line.len());
        change(&mut line[at], &mut choices);
    }
    for _ in 0..choices.below(3) {
        let at = choices.below(line.len());
        let mut twin = line[at].clone();
        twin.serial = twin.serial.wrapping_add(20);
        change(&mut twin, &mut choices);
        let to = choices.below(line.len());
        line.insert(to.min(line.len() - 1), twin);
    }
    share_out(line, &mut choices)
}

fn share_out(mut line: Vec<Recipe>, choices: &mut Choices<'_>) -> Scene {
    let mut lists = Vec::new();
    if choices.below(3) == 2 {
        for authority in &line[..line.len() - 1] {
            let revoked = choices.pick(&[vec![], vec![], vec![7], vec![11], vec![31]]);
            let years = choices.pick(&[(2026, 2030), (2026, 2030), (2020, 2021), (2029, 2030)]);
            lists.push((authority.clone(), revoked, years));
            if choices.below(8) == 7 {
                break;
            }
        }
    }
    let mut sent = vec![line.pop().unwrap_or_else(|| root("root", 0))];
    let mut anchors = Vec::new();
    for authority in line {
        let is_root = authority.subject == authority.issuer;
        match (is_root, choices.below(8)) {
            (true, 0..=5) | (false, 6) => anchors.push(authority),
            (_, 7) => {
                anchors.push(authority.clone());
                sent.push(authority);
            }
            _ => sent.insert(1, authority),
        }
    }
    if choices.below(12) == 11 {
        anchors.push(sent[0].clone());
    }
    Scene {
        anchors,
        sent,
        lists,
        partial: choices.below(4) == 3,
        now: NOW,
    }
}

/// One change to a certificate.
fn change(recipe: &mut Recipe, choices: &mut Choices<'_>) {
    match choices.below(16) {
        0 => recipe.valid = choices.pick(&[(2020, 2021), (2028, 2030), (2020, 2030)]),
        1 => {
            recipe.basic_constraints =
                choices.pick(&[None, Some((true, None)), Some((false, None))]);
        }
        2 => recipe.basic_constraints = Some((true, Some(choices.pick(&[0, 1, 2])))),
        3 => {
            recipe.key_usage = choices.pick(&[None, Some(0x80), Some(0x04), Some(0x02), Some(0x20)])
        }
        4 => {
            recipe.extended_key_usage =
                choices.pick(&[vec![], vec![2], vec![1], vec![0], vec![1, 2]])
        }
        5 => recipe.subject_key_id = choices.pick(&[None, Some(0), Some(1), Some(99)]),
        6 => recipe.authority_key_id = authority_key_id(choices),
        7 => recipe.permitted = some_names(choices),
        8 => recipe.excluded = some_names(choices),
        9 => recipe.names = some_names(choices),
        10 => {
            recipe.subject = choices
                .pick(&[
                    "root",
                    "one",
                    "two",
                    "other.test",
                    "ROOT",
                    "user.inside.test",
                ])
                .to_owned();
        }
        11 => recipe.issuer = choices.pick(&["root", "one", "two", "Root "]).to_owned(),
        12 => recipe.signed_by = choices.below(5),
        13 => recipe.key = choices.below(5),
        14 => {
            let arcs = choices.pick(&[
                vec![1, 2, 3, 4],
                vec![1, 3, 6, 1, 5, 5, 7, 1, 1],
                vec![2, 5, 29, 54],
                vec![2, 5, 29, 18],
            ]);
            let critical = choices.below(2) == 1;
            recipe.extensions.push((arcs, critical, vec![5, 0]));
        }
        _ => recipe.serial = choices.pick(&[7, 11, 31]),
    }
}

fn authority_key_id(choices: &mut Choices<'_>) -> Option<AuthorityKeyId> {
    let key_id = choices.pick(&[None, Some(0), Some(1), Some(99)]);
    let issuer_and_serial = choices.pick(&[
        None,
        None,
        Some(("root".to_owned(), 1)),
        Some(("root".to_owned(), 11)),
        Some(("nobody".to_owned(), 1)),
    ]);
    (key_id.is_some() || issuer_and_serial.is_some()).then_some(AuthorityKeyId {
        key_id,
        issuer_and_serial,
    })
}

fn some_names(choices: &mut Choices<'_>) -> Vec<Name> {
    let name = [
        dns("inside.test"),
        dns(".inside.test"),
        dns("a.inside.test"),
        dns("outside.test"),
        dns(""),
        mail("inside.test"),
        mail("a@inside.test"),
        mail("b@outside.test"),
        Name::Directory("user.inside.test".to_owned()),
        Name::Directory("one".to_owned()),
    ];
    (0..=choices.below(2))
        .map(|_| choices.pick(&name))
        .collect()
}
