//! Journals that are cut, changed, or not all there.

use super::test_kept::*;
use super::*;

#[test]
fn a_journal_that_is_cut_anywhere_holds_its_whole_batches() {
    let (kept, states) = four_batches();
    let bytes = kept.disk.bytes("s.journal.1");
    for cut in 0..=bytes.len() {
        let disk = kept.disk.copy();
        disk.put("s.journal.1", bytes[..cut].to_vec());
        let reopened = Kept::open(&disk);
        let whole = states.iter().rfind(|(length, _)| *length <= cut);
        assert_same(
            Some(&all(&reopened.store)),
            whole.map(|(_, state)| state).or(Some(&empty())),
        );
        // It goes on from there.
        reopened.set(9, b"more", b"1");
        reopened.flush().unwrap();
        assert_same(all(&reopened.reopened().store), all(&reopened.store));
    }
}

#[test]
fn a_changed_byte_is_refused_or_of_the_last_write() {
    let (kept, states) = four_batches();
    let bytes = kept.disk.bytes("s.journal.1");
    let [.., (last, before), _] = &states[..] else {
        panic!()
    };
    for place in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[place] ^= bit;
            let disk = kept.disk.copy();
            disk.put("s.journal.1", changed);
            match Kept::try_open(&disk) {
                Err(error) => {
                    let text = error.to_string();
                    assert!(
                        text.starts_with("journal s.journal.1 ")
                            && text.contains("Nothing was loaded"),
                        "{text}"
                    );
                    assert!(place < *last);
                }
                Ok(reopened) => {
                    assert!(place >= *last, "{place}");
                    assert_same(&all(&reopened.store), before);
                }
            }
        }
    }
}

#[test]
fn bytes_behind_the_end_are_torn_whatever_they_are() {
    let (kept, states) = four_batches();
    let whole = kept.disk.bytes("s.journal.1");
    for garbage in [vec![0; 1000], vec![0xff; 70_000], b"\xb7PT\x1d".repeat(300)] {
        let disk = kept.disk.copy();
        disk.put("s.journal.1", [whole.clone(), garbage.clone()].concat());
        let reopened = Kept::open(&disk);
        assert_eq!(reopened.restored.journal.torn_bytes, garbage.len() as u64);
        assert_same(&all(&reopened.store), &states.last().unwrap().1);
        assert_eq!(disk.bytes("s.journal.1")[..whole.len()], whole);
    }
}

#[test]
fn sectors_that_never_came_to_the_disk_are_torn_unless_they_were_flushed() {
    for flushed in [false, true] {
        let kept = Kept::new();
        kept.set(0, b"first", b"1");
        kept.flush().unwrap();
        let before = all(&kept.store);
        let start = kept.disk.bytes("s.journal.1").len();
        kept.set(0, b"second", &[b'x'; 3_000]);
        kept.flush().unwrap();
        if flushed {
            kept.sync().unwrap();
        }
        kept.set(0, b"third", b"3");
        kept.flush().unwrap();
        let mut bytes = kept.disk.bytes("s.journal.1");
        let sector = (start + 600) / 512 * 512;
        bytes[sector..sector + 1024].fill(0);
        let disk = kept.disk.copy();
        disk.put("s.journal.1", bytes);
        match Kept::try_open(&disk) {
            Ok(reopened) => {
                assert!(!flushed);
                assert_same(&all(&reopened.store), &before);
            }
            Err(error) => assert!(flushed, "{error}"),
        }
    }
}

#[test]
fn a_batch_of_several_parts_holds_as_a_whole() {
    let kept = Kept::new();
    let count = 3 * format::PART_BYTES / 60_000;
    for key in 0..count as u32 {
        kept.set(0, &key.to_le_bytes(), &[1; 60_000]);
    }
    kept.flush().unwrap();
    assert_eq!(kept.reopened().store.len(0), count);
    let bytes = kept.disk.bytes("s.journal.1");
    let disk = kept.disk.copy();
    disk.put("s.journal.1", bytes[..bytes.len() - 1].to_vec());
    assert_eq!(Kept::open(&disk).store.len(0), 0);
}

#[test]
fn a_generation_that_is_missing_is_told() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    kept.save().unwrap();
    something(&kept);
    kept.flush().unwrap();
    let disk = kept.disk.copy();
    let bytes = disk.bytes("s.journal.2");
    disk.put("s.journal.3", bytes);
    disk.remove(Path::new("s.journal.2")).unwrap();
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(
        error.starts_with("journal s.journal.2 is missing"),
        "{error}"
    );
    // Under its own name it would be another generation than it says.
    disk.put("s.journal.2", kept.disk.bytes("s.journal.2"));
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(
        error.contains("another generation than its name says"),
        "{error}"
    );
    // Without a snapshot the first one is missing.
    disk.remove(Path::new("s.journal.3")).unwrap();
    disk.remove(Path::new("s")).unwrap();
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(
        error.starts_with("journal s.journal.1 is missing"),
        "{error}"
    );
}

#[test]
fn a_generation_that_others_go_on_from_must_be_whole() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    // Another version goes on in a file of its own.
    let mut bytes = kept.disk.bytes("s.journal.1");
    let header = Header::read(&mut &bytes[..], bytes.len() as u64);
    let other = Header {
        server_version: "0.0.0".to_owned(),
        ..header.unwrap().unwrap()
    };
    bytes[..format::HEADER_BYTES].copy_from_slice(&other.encode());
    kept.disk.put("s.journal.1", bytes.clone());
    let reopened = kept.reopened();
    reopened.set(0, b"later", b"");
    reopened.flush().unwrap();
    assert_eq!(reopened.journals(), ["s.journal.1", "s.journal.2"]);
    assert_same(all(&reopened.reopened().store), all(&reopened.store));
    reopened
        .disk
        .put("s.journal.1", bytes[..bytes.len() - 1].to_vec());
    let error = Kept::try_open(&reopened.disk).err().unwrap().to_string();
    assert!(error.contains("is damaged"), "{error}");
}

#[test]
fn a_sector_that_was_flushed_half_is_torn_from_there() {
    let kept = Kept::new();
    kept.set(0, b"first", b"1");
    kept.flush().unwrap();
    kept.sync().unwrap();
    let (before, end) = (all(&kept.store), kept.disk.bytes("s.journal.1").len());
    assert_ne!(end % 512, 0);
    for text in [b"2", b"3"] {
        kept.set(0, b"later", &text.repeat(700));
        kept.flush().unwrap();
    }
    let whole = kept.disk.bytes("s.journal.1");
    for (byte, is_torn) in [(0, true), (1, false)] {
        let mut bytes = whole.clone();
        bytes[end..end.next_multiple_of(512)].fill(byte);
        let disk = kept.disk.copy();
        disk.put("s.journal.1", bytes);
        match Kept::try_open(&disk) {
            Ok(reopened) if is_torn => assert_same(&all(&reopened.store), &before),
            Ok(_) => panic!("bytes that nobody wrote were passed over"),
            Err(error) => assert!(!is_torn, "{error}"),
        }
    }
}
