/** Reads the rows of `*.txt` in this folder. See `README.md` for their form. */
import { readFileSync, readdirSync } from 'node:fs';

const KEYS = new Set(['bytes', 'portico', 'node', 'node-9.3', 'strict-host', 'fields', 'why']);

/** The bytes that an escaped text stands for: `\r \n \t \\ \xNN`, and `\(text*count)` for a text many times. */
export function unescapeBytes(text) {
  const repeated = text.replace(/\\\((.*?)\*(\d+)\)/g, (_, part, count) => part.repeat(Number(count)));
  const plain = repeated.replace(/\\(x[0-9a-f]{2}|[rnt\\])/g, (_, escape) => {
    switch (escape[0]) {
      case 'r': return '\r';
      case 'n': return '\n';
      case 't': return '\t';
      case '\\': return '\\';
      default: return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    }
  });
  return Buffer.from(plain, 'latin1');
}

/** The escaped text of some bytes, without repetitions. */
export function escapeBytes(bytes) {
  let text = '';
  for (const byte of bytes) {
    if (byte === 0x0d) text += '\\r';
    else if (byte === 0x0a) text += '\\n';
    else if (byte === 0x09) text += '\\t';
    else if (byte === 0x5c) text += '\\\\';
    else if (byte < 0x20 || byte > 0x7e) text += `\\x${byte.toString(16).padStart(2, '0')}`;
    else text += String.fromCharCode(byte);
  }
  return text;
}

/** All rows: `{ file, line, name, bytes, portico, node?, 'node-9.3'?, 'strict-host'?, fields?, why? }`. */
export function readCases() {
  const cases = [];
  for (const file of readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt')).sort()) {
    const lines = readFileSync(`${import.meta.dirname}/${file}`, 'utf8').split('\n');
    let row;
    for (const [index, line] of lines.entries()) {
      if (line === '' || line.startsWith('#')) continue;
      if (!line.startsWith('  ')) {
        row = { file, line: index + 1, name: line };
        cases.push(row);
        continue;
      }
      const [, key, value] = /^ {2}([a-z0-9.-]+): (.*)$/.exec(line) ?? [];
      if (!row || !KEYS.has(key) || key in row) throw new Error(`${file}:${index + 1}: bad line`);
      row[key] = value;
    }
  }
  return cases;
}
