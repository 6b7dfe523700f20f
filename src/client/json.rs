//! What the tools print for programs.

/// An object of members whose values are JSON already.
pub(super) fn object<K: AsRef<str>>(members: impl IntoIterator<Item = (K, String)>) -> String {
    let members = members.into_iter();
    let members: Vec<String> = members
        .map(|(name, value)| format!("{}:{value}", string(name.as_ref())))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// An array of values that are JSON already.
pub(super) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// A text as JSON.
pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            character if character < ' ' => {
                out += &format!("\\u{:04x}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(string("a\"b\\c\nd\u{e9}"), "\"a\\\"b\\\\c\\u000ad\u{e9}\"");
        assert_eq!(object([("a", array(["1".to_owned()]))]), "{\"a\":[1]}");
    }
}
