//! OpenSSL as the judge: `openssl verify`, with what node:https sets.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "tests"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for each question.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("portico-x509-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, label: &str, all: &[Vec<u8>]) -> PathBuf {
        let path = self.0.join(name);
        let text: String = all.iter().map(|der| pem(label, der)).collect();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether OpenSSL accepts a chain for a TLS client, and if not, what it says.
pub fn verify(
    anchors: &[Vec<u8>],
    sent: &[Vec<u8>],
    lists: &[Vec<u8>],
    partial: bool,
    now: u64,
) -> Result<(), String> {
    let folder = Folder::new();
    let mut command = Command::new("openssl");
    command.args(["verify", "-no-CApath", "-no-CAstore", "-auth_level", "2"]);
    command.args(["-purpose", "sslclient", "-attime", &now.to_string()]);
    if anchors.is_empty() {
        command.arg("-no-CAfile");
    } else {
        option(
            &mut command,
            "-CAfile",
            &folder.write("ca", "CERTIFICATE", anchors),
        );
    }
    if partial {
        command.arg("-partial_chain");
    }
    if sent.len() > 1 {
        let others = folder.write("others", "CERTIFICATE", &sent[1..]);
        option(&mut command, "-untrusted", &others);
    }
    if !lists.is_empty() {
        let lists = folder.write("lists", "X509 CRL", lists);
        command.args(["-crl_check", "-crl_check_all"]);
        option(&mut command, "-CRLfile", &lists);
    }
    command.arg(folder.write("leaf", "CERTIFICATE", &sent[..1]));
    let output = command.output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// An authority's certificate and key, in files of OpenSSL's.
pub struct Authority {
    folder: Folder,
    certificate: PathBuf,
    key: PathBuf,
}

impl Authority {
    pub fn new(certificate: &[u8], key: &[u8]) -> Self {
        let folder = Folder::new();
        let certificate = folder.write("ca", "CERTIFICATE", &[certificate.to_vec()]);
        let key = folder.write("key", "PRIVATE KEY", &[key.to_vec()]);
        Self {
            folder,
            certificate,
            key,
        }
    }

    /// A certificate for TLS clients, from now on for a week, of this public key (a `SubjectPublicKeyInfo`) and signed
    /// with this digest. OpenSSL takes keys and digests that other tools refuse to make certificates of.
    pub fn issue(&self, public_key: &[u8], digest: &str) -> Vec<u8> {
        let public_key = self
            .folder
            .write("public", "PUBLIC KEY", &[public_key.to_vec()]);
        let extensions = self.folder.0.join("extensions");
        std::fs::write(&extensions, "extendedKeyUsage = clientAuth\n").unwrap();
        let mut command = Command::new("openssl");
        command.args(["x509", "-new", "-subj", "/CN=user", "-set_serial", "7"]);
        command.args(["-days", "7", "-outform", "DER", &format!("-{digest}")]);
        option(&mut command, "-force_pubkey", &public_key);
        option(&mut command, "-CA", &self.certificate);
        option(&mut command, "-CAkey", &self.key);
        option(&mut command, "-extfile", &extensions);
        output_of(&mut command)
    }

    /// A new public key on a curve: a `SubjectPublicKeyInfo`.
    pub fn key_on(&self, curve: &str) -> Vec<u8> {
        let private = self.folder.0.join(curve);
        let mut command = Command::new("openssl");
        command.args(["genpkey", "-algorithm", "EC", "-pkeyopt"]);
        command.arg(format!("ec_paramgen_curve:{curve}"));
        option(&mut command, "-out", &private);
        output_of(&mut command);
        let mut command = Command::new("openssl");
        command.args(["pkey", "-pubout", "-outform", "DER"]);
        option(&mut command, "-in", &private);
        output_of(&mut command)
    }
}

fn output_of(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output.stdout
}

fn option(command: &mut Command, name: &str, path: &Path) {
    command.arg(name).arg(path);
}

fn pem(label: &str, der: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let bits = three
                .iter()
                .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - three.len()));
            for place in 0..4 {
                let letter = char::from(LETTERS[(bits >> (18 - 6 * place)) as usize & 63]);
                text.push(if place > three.len() { '=' } else { letter });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}
