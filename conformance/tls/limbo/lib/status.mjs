/** The page that a whole run writes. */

export function statusPage({ groups, differences }, openssl) {
  const lines = [...groups].map(([group, counts]) => row(group, counts));
  const total = {};
  for (const counts of groups.values()) for (const [name, value] of Object.entries(counts)) total[name] = (total[name] ?? 0) + value;
  return `# x509-limbo and BetterTLS under Portico's verifier

Written by \`run.mjs\`, not by hand. Compared with ${openssl}. Each case is judged twice, for clients and for servers.

| Cases | Verdicts | both accept | both refuse | only OpenSSL accepts | only Portico accepts | against the suite: Portico | OpenSSL |
|---|---|---|---|---|---|---|---|
${lines.join('\n')}
${row('**all**', total)}

"Against the suite" counts verdicts that are not the suite's own: it judges by RFC 5280 and the web's rules, with host names,
and expects a search among several paths.

## Refused, though OpenSSL accepts it

| Case | For | Error | The suite wants it | Why |
|---|---|---|---|---|
${differences.map(({ id, purpose, error, expects, reason }) => `| \`${id}\` | ${purpose}s | ${error} | ${expects ? 'accepted' : 'refused'} | ${reason} |`).join('\n')}
`;
}

function row(name, { verdicts, accepted, refused, onlyOpenssl, onlyPortico, unexpected, unexpectedOpenssl }) {
  return `| ${name} | ${verdicts} | ${accepted} | ${refused} | ${onlyOpenssl} | ${onlyPortico} | ${unexpected} | ${unexpectedOpenssl} |`;
}
