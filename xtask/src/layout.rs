//! The record layout: reads the constants of `crates/portico-channel/src/layout.rs` from its source text.

use std::fmt::Write as _;

/// TypeScript with one `const enum`-like object a module. The modules stay apart, since names recur in them.
///
/// # Errors
/// A constant that is not a plain number, or an expression of numbers known so far.
pub(crate) fn generate(source: &str) -> Result<String, String> {
    let mut out = String::from(
        "// Generated from crates/portico-channel/src/layout.rs by `make generate`. Do not edit.\n\n",
    );
    let mut known: Vec<(String, u64)> = Vec::new();
    let mut module: Option<String> = None;
    for line in source.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed
            .strip_prefix("pub mod ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            module = Some(name.to_owned());
        } else if line == "}" {
            module = None;
        } else if let Some((name, expression)) = constant(trimmed) {
            let value = evaluate(expression, &known)
                .ok_or_else(|| format!("layout.rs: can't read `{trimmed}`"))?;
            known.push((name.to_owned(), value));
            let prefix = module
                .as_ref()
                .map(|module| format!("{}_", module.to_uppercase()))
                .unwrap_or_default();
            writeln!(out, "export const {prefix}{name} = {value};")
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(out)
}

fn constant(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("pub const ")?;
    let (name, rest) = rest.split_once(':')?;
    let (_, value) = rest.split_once('=')?;
    Some((name.trim(), value.trim().strip_suffix(';')?))
}

/// Numbers, names, `a << b`, `(x) - y`: what the table uses.
fn evaluate(expression: &str, known: &[(String, u64)]) -> Option<u64> {
    let expression = expression.trim();
    if let Some((left, right)) = expression.rsplit_once(" - ") {
        return evaluate(left, known)?.checked_sub(evaluate(right, known)?);
    }
    if let Some(inner) = expression
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return evaluate(inner, known);
    }
    if let Some((left, right)) = expression.split_once(" << ") {
        return evaluate(left, known)?.checked_shl(u32::try_from(evaluate(right, known)?).ok()?);
    }
    if let Some(hexadecimal) = expression.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).ok();
    }
    expression.replace('_', "").parse().ok().or_else(|| {
        known
            .iter()
            .find(|(name, _)| name == expression)
            .map(|(_, value)| *value)
    })
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn constants_of_modules_carry_the_modules_name() {
        let source = "pub const A: u32 = 20;\npub const B: u32 = (1 << A) - 1;\npub mod event {\n    pub const OPEN: u32 = 1;\n}\n";
        let text = generate(source).unwrap_or_default();
        assert!(text.contains("export const A = 20;"));
        assert!(text.contains("export const B = 1048575;"));
        assert!(text.contains("export const EVENT_OPEN = 1;"));
    }
}
