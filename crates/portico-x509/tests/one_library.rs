//! There is one AWS-LC in the program: certificates are judged by the copy that TLS computes with.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

#[test]
fn the_lock_file_names_one_version_of_the_library() {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).unwrap();
    let copies = lock.matches("name = \"aws-lc-sys\"").count();
    assert_eq!(copies, 1, "raise aws-lc-sys here and aws-lc-rs together");
}
