//! Nanoseconds for each search among 1,000 prefixes.
//!
//! `cargo run --release -p portico-router --example find_bench`; with the number of a case and a count as arguments it
//! runs that case alone, for counting instructions.

#![allow(clippy::unwrap_used, reason = "an example")]

use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use portico_router::{Lookup, Scheme, Table, UrlPrefix};

const PREFIXES: usize = 1000;
const SLICE: Duration = Duration::from_micros(500);

fn main() {
    let numbered = table(|n| format!("http://*:8080/{n}/"));
    let deep = table(|n| format!("http://*:8080/api/v1/tenants/tenant-{n:04}/service/"));
    let named = table(|n| format!("http://tenant-{n}.example.com:8080/"));
    let one = table(|_| "http://*:8080/".to_owned());
    let cases = [
        ("one prefix", &one, "localhost:8080", "/"),
        ("/N/", &numbered, "localhost:8080", "/517/"),
        (
            "/N/, a longer path",
            &numbered,
            "localhost:8080",
            "/517/news/2026/11/21/article.html?page=2",
        ),
        ("no match", &numbered, "localhost:8080", "/nowhere/"),
        (
            "five segments",
            &deep,
            "api.example.com",
            "/api/v1/tenants/tenant-0517/service/items/12?sort=name",
        ),
        (
            "a host for each",
            &named,
            "tenant-517.example.com:8080",
            "/index.html",
        ),
        (
            "capital letters in the host",
            &named,
            "Tenant-517.Example.com",
            "/index.html",
        ),
        (
            "an escape in the path",
            &numbered,
            "localhost:8080",
            "/517/caf%C3%A9",
        ),
    ];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [number, count] = &arguments[..] {
        let (_, table, host, target) = cases[number.parse::<usize>().unwrap()];
        let lookup = lookup(host, target);
        for _ in 0..count.parse::<u64>().unwrap() {
            black_box(table.find(black_box(&lookup)).unwrap());
        }
        return;
    }
    println!("{:<30} {:>8}", "", "ns");
    for (name, table, host, target) in cases {
        println!("{name:<30} {:>8.1}", nanoseconds(table, host, target));
    }
}

fn table(text: impl Fn(usize) -> String) -> Table<usize> {
    let mut table = Table::new();
    for number in 0..PREFIXES {
        table
            .insert(UrlPrefix::parse(&text(number)).unwrap(), number)
            .unwrap();
    }
    table
}

fn lookup<'a>(host: &'a str, target: &'a str) -> Lookup<'a> {
    Lookup {
        scheme: Scheme::Http,
        port: 8080,
        host: Some(host.as_bytes()),
        local_address: IpAddr::from([127, 0, 0, 1]),
        target: target.as_bytes(),
    }
}

/// The best of a thousand slices: short ones, as other programs interrupt long ones.
fn nanoseconds(table: &Table<usize>, host: &str, target: &str) -> f64 {
    let lookup = lookup(host, target);
    let slice = || {
        let (begin, mut rounds) = (Instant::now(), 0u32);
        while begin.elapsed() < SLICE {
            for _ in 0..100 {
                black_box(table.find(black_box(&lookup)).unwrap());
            }
            rounds += 1;
        }
        begin.elapsed().as_secs_f64() * 1e9 / (f64::from(rounds) * 100.0)
    };
    (0..1000).map(|_| slice()).fold(f64::INFINITY, f64::min)
}
