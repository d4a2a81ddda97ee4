// Turns the results of both sides into counts, a list of failures, and problems that fail the run.

/** `filtered` says that only a part of the suite ran, so that a listed test that did not run is no problem. */
export function judge({ files, plain, portico, known, filtered }) {
  const counts = { files: files.length, tests: 0, plainPass: 0, plainSkip: 0, plainFail: 0, pass: 0, engine: 0, fail: 0, connections: 0 };
  const problems = [];
  const failures = [];
  const plainFailures = [];
  const seen = new Set();
  for (const file of files) {
    const before = plain.get(file);
    const after = portico.get(file);
    counts.connections += after.connections;
    if (before.tests.size === 0) problems.push(`${file}: no test ran on plain Node`);
    problems.push(...judgeUse(before, after, known.nodeServes.get(file)));
    for (const [name, { outcome }] of before.tests) {
      const id = `${file}: ${name}`;
      counts.tests += 1;
      if (outcome === 'skip') counts.plainSkip += 1;
      if (outcome === 'fail') {
        counts.plainFail += 1;
        plainFailures.push(id);
      }
      if (outcome !== 'pass') continue;
      counts.plainPass += 1;
      seen.add(id);
      const result = after.tests.get(name) ?? { outcome: 'missing', message: after.output };
      const entry = known.differences.get(id);
      if (result.outcome === 'pass') {
        counts.pass += 1;
        if (after.connections > 0) counts.engine += 1;
        if (entry) problems.push(`${id} passes: take it out of known-differences.json`);
      } else {
        counts.fail += 1;
        failures.push({ id, message: result.message, outcome: result.outcome, entry });
        if (!entry) problems.push(`${id}: ${result.outcome} under Portico, and not in known-differences.json`);
      }
    }
    for (const [name, { outcome }] of after.tests) {
      if (outcome === 'fail' && !before.tests.has(name)) problems.push(`${file}: ${name}: fails under Portico, and is not there on plain Node`);
    }
  }
  if (!filtered) {
    for (const id of known.differences.keys()) if (!seen.has(id)) problems.push(`${id} is listed but did not run, or fails plain too`);
    for (const file of known.nodeServes.keys()) if (!files.includes(file)) problems.push(`${file} is listed but did not run`);
    if (counts.connections === 0) problems.push('no test at all was served by the engine');
  }
  return { counts, problems, failures, plainFailures, known, summary: summarise(counts) };
}

/** Where node:http served on plain Node, the engine must have served here. */
function judgeUse(before, after, entry) {
  if (before.served && after.connections === 0 && !entry) {
    return [`${before.file}: node:http serves in it, but the engine took no connection: fix, or list it under nodeServes`];
  }
  return after.connections > 0 && entry ? [`${before.file} is served by the engine: take it out of nodeServes`] : [];
}

function summarise({ tests, plainPass, plainSkip, plainFail, pass, engine, fail, connections }) {
  const share = plainPass === 0 ? 'none' : `${((100 * pass) / plainPass).toFixed(2)} %`;
  return [
    `${tests} tests; plain: ${plainPass} pass, ${plainSkip} skip, ${plainFail} fail.`,
    `Under Portico: ${pass} of ${plainPass} (${share}), ${engine} of them in files that the engine served (${connections} connections); differ: ${fail}.`,
  ].join(' ');
}
