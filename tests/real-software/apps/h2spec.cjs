// Answers each request when all of it has come, which is when h2spec knows that it was right. Over TLS with KEY and CERT in
// the environment; on a URL prefix where one is given.

const { readFileSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');

const { KEY, CERT } = process.env;
const answer = (req, res) => {
  req.resume();
  req.on('end', () => res.end('answered'));
};
const prefix = process.argv[2];
const isSecure = prefix ? prefix.startsWith('https:') : Boolean(KEY);
const identity = KEY ? { key: readFileSync(KEY), cert: readFileSync(CERT) } : {};
const server = isSecure ? https.createServer(identity, answer) : http.createServer(answer);
server.listen(prefix ?? 0, () => console.log(prefix ? 'listening' : `listening on ${server.address().port}`));
