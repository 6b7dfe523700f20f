//! The table of calls that every client sends (`../cases.json`).

use serde_json::Value as Json;

use crate::suite::{Checked, Connection, Suite, begins, between, equal};

pub fn groups() -> Vec<Json> {
    let table: Json = serde_json::from_str(include_str!("../../cases.json")).expect("cases.json is JSON");
    table["groups"].as_array().expect("groups is a list").clone()
}

pub async fn run(suite: &Suite, connection: &mut Connection, group: &Json) -> Checked {
    let own = |text: &Json| match text.as_str().unwrap_or_default() {
        text if text.starts_with('$') => suite.key(&text[1..]),
        text => text.to_owned(),
    };
    let steps: Vec<(Vec<String>, &Json)> = group["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|step| (step[0].as_array().into_iter().flatten().map(own).collect(), &step[1]))
        .collect();
    let prefix = suite.key("");
    for key in steps.iter().flat_map(|(words, _)| words).filter(|word| word.starts_with(&prefix)) {
        connection.call(&["DEL", key]).await;
    }
    for (words, want) in &steps {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let got = connection.call(&words).await;
        compare(want, &got, suite).map_err(|why| format!("{}: {why}; the whole reply: {got}", words.join(" ")))?;
    }
    Ok(())
}

fn compare(want: &Json, got: &Json, suite: &Suite) -> Checked {
    match want {
        Json::Object(rule) if rule.contains_key("error") => begins(got, rule["error"].as_str().unwrap_or_default(), "reply"),
        _ if got.get("error").is_some() => Err(format!("got an error: {}", got["error"])),
        Json::Object(rule) if rule.contains_key("any") => Ok(()),
        Json::Object(rule) if rule.contains_key("between") => {
            let bound = |at: usize| rule["between"][at].as_i64().unwrap_or_default();
            between(got, bound(0), bound(1), "reply")
        }
        Json::Object(rule) if rule.contains_key("text") => {
            let part = rule["text"].as_str().unwrap_or_default();
            if got.as_str().is_some_and(|text| text.contains(part)) {
                Ok(())
            } else {
                Err(format!("expected a text with {part}"))
            }
        }
        Json::Object(rule) => {
            for (field, value) in rule["map"].as_object().into_iter().flatten() {
                let found = field_of(got, field, suite.resp3).ok_or_else(|| format!("no field {field} in {got}"))?;
                compare(value, found, suite).map_err(|why| format!("{field}: {why}"))?;
            }
            let shaped = if suite.resp3 { got.get("map").is_some() } else { got.is_array() };
            if shaped { Ok(()) } else { Err(format!("expected a map, got {got}")) }
        }
        Json::Array(items) => {
            let found = got
                .as_array()
                .filter(|found| found.len() == items.len())
                .ok_or_else(|| format!("expected {} elements, got {got}", items.len()))?;
            items
                .iter()
                .zip(found)
                .enumerate()
                .try_for_each(|(i, (item, found))| compare(item, found, suite).map_err(|why| format!("element {i}: {why}")))
        }
        Json::String(text) if text.starts_with('$') => equal(got, suite.key(&text[1..]).into(), "reply"),
        _ => equal(got, want.clone(), "reply"),
    }
}

/// A map in RESP3; fields and values in turn in RESP2.
fn field_of<'a>(got: &'a Json, field: &str, resp3: bool) -> Option<&'a Json> {
    if resp3 {
        return got.get("map")?.get(field);
    }
    got.as_array()?.chunks_exact(2).find(|pair| pair[0] == field).map(|pair| &pair[1])
}
