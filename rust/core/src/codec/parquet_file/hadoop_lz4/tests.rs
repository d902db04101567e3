use super::*;

/// The header of a data page, as parquet-mr writes it.
fn head(uncompressed: usize, compressed: usize, crc: Option<i64>) -> Vec<u8> {
    let mut head = Vec::new();
    for number in [0, uncompressed as i64, compressed as i64]
        .into_iter()
        .chain(crc)
    {
        head.push(NEXT_I32);
        write_number(&mut head, number);
    }
    // the header of the data page, and its number of values, encoding and encodings of levels
    head.push(if crc.is_some() { 0x1C } else { 0x2C });
    for number in [1, 0, 3, 3] {
        head.push(NEXT_I32);
        write_number(&mut head, number);
    }
    head.extend([0, 0]);
    head
}

/// Blocks as Hadoop writes them: the size once, then each block after its length.
fn blocks(parts: &[&[u8]]) -> Vec<u8> {
    let total: usize = parts.iter().map(|part| part.len()).sum();
    let mut body = (total as u32).to_be_bytes().to_vec();
    for part in parts {
        let block = lz4_flex::block::compress(part);
        body.extend((block.len() as u32).to_be_bytes());
        body.extend(block);
    }
    body
}

fn page(body: &[u8], size: usize, crc: bool) -> Vec<u8> {
    let mut page = head(size, body.len(), crc.then(|| checksum(body)));
    page.extend(body);
    page
}

#[test]
fn blocks_of_a_page_become_one() {
    let values = b"abcabcabcabcabcabcabcabc".repeat(3);
    let (first, second) = values.split_at(50);
    let several = [
        blocks(&[first, second]),
        [blocks(&[first]), blocks(&[second])].concat(),
    ];
    for (body, crc) in several
        .iter()
        .flat_map(|body| [(body, false), (body, true)])
    {
        let (chunk, first_data) = recompressed_chunk(&page(body, values.len(), crc)).unwrap();
        assert_eq!(first_data, 0);
        assert_eq!(chunk, page(&blocks(&[&values]), values.len(), crc));
    }
}

#[test]
fn pages_of_one_block_are_kept() {
    let one = page(&blocks(&[b"values"]), 6, false);
    assert_eq!(recompressed_chunk(&one), None);
    let several = page(&blocks(&[b"val", b"ues"]), 6, false);
    let (chunk, _) = recompressed_chunk(&[one.clone(), several].concat()).unwrap();
    assert_eq!(chunk, [one.clone(), one].concat());
}

#[test]
fn pages_that_do_not_decompress_are_kept() {
    let good = blocks(&[b"val", b"ues"]);
    let mut wrong_crc = page(&good, 6, true);
    *wrong_crc.last_mut().unwrap() ^= 1;
    for page in [
        page(&good, 7, false),
        page(&good[..good.len() - 1], 6, false),
        page(&[&good[..], &[0]].concat(), 6, false),
        wrong_crc,
    ] {
        assert!(recompressed_chunk(&page).is_none_or(|(chunk, _)| chunk == page));
    }
    assert_eq!(recompressed_chunk(&good), None);
}
