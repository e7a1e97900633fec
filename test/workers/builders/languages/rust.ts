import type { Sample } from './sample.js';

const SERVER = `
use std::io::{Read, Write};
pub fn serve(body: &str) {
    let port = std::env::var("PORT").unwrap();
    let listener = std::net::TcpListener::bind(format!("0.0.0.0:{}", port)).unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut head = [0u8; 4096];
        let _ = stream.read(&mut head);
        let _ = write!(stream, "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: {}\\r\\n\\r\\n{}", body.len(), body);
    }
}
`;

export const RUST_SAMPLES: readonly Sample[] = [
  {
    name: 'Rust: one binary',
    needs: 'cargo',
    files: {
      'Cargo.toml': '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/main.rs': `${SERVER}fn main() { serve("hello of Rust"); }\n`,
    },
    expects: { body: 'hello of Rust' },
  },
  {
    name: 'Rust: a workspace with a library and one program',
    needs: 'cargo',
    files: {
      'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\n',
      'crates/serving/Cargo.toml': '[package]\nname = "serving"\nversion = "0.1.0"\nedition = "2021"\n',
      'crates/serving/src/lib.rs': SERVER,
      'crates/shop/Cargo.toml':
        '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nserving = { path = "../serving" }\n',
      'crates/shop/src/main.rs': 'fn main() { serving::serve("a member"); }\n',
    },
    expects: { body: 'a member' },
  },
];
