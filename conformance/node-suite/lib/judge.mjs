// Turns the results of both sides into counts, a list of failures, and problems that fail the run.

/**
 * `served` holds the tests in which node:http served a request on the plain side. `filtered` says
 * that only a part of the suite ran, so that a listed test that did not run is no problem.
 */
export function judge({ tests, plain, served, portico, known, filtered }) {
  const problems = [];
  const failures = [];
  const counts = { tests: tests.length, plainPass: 0, plainSkip: 0, plainFail: 0, pass: 0, unused: 0, fail: 0 };
  const unused = [];
  const plainFailures = [];
  const ran = new Set();
  for (const { name } of tests) {
    const before = plain.get(name);
    if (before.outcome === 'skip') counts.plainSkip += 1;
    else if (before.outcome !== 'pass') {
      counts.plainFail += 1;
      plainFailures.push(name);
    }
    if (before.outcome !== 'pass') continue;
    counts.plainPass += 1;
    ran.add(name);
    const result = portico.get(name);
    const entry = known.differences.get(name);
    if (result.outcome !== 'pass') {
      counts.fail += 1;
      failures.push({ ...result, entry });
      if (!entry) problems.push(`${name}: ${result.outcome} under Portico, and not in known-differences.json`);
      continue;
    }
    if (entry) problems.push(`${name} passes: take it out of known-differences.json`);
    const used = result.counters.connections > 0;
    if (used) counts.pass += 1;
    else {
      counts.unused += 1;
      unused.push(name);
    }
    problems.push(...judgeUse(name, used, served.has(name), known.nodeServes.get(name)));
  }
  for (const name of [...known.differences.keys(), ...known.nodeServes.keys()]) {
    if (!filtered && !ran.has(name)) problems.push(`${name} is listed but did not run, or fails plain too`);
  }
  if (!filtered && counts.pass === 0) problems.push('no test at all was served by the engine');
  return { counts, problems, failures, unused, plainFailures, known, summary: summarise(counts) };
}

/** A pass is only worth something if what node:http had served was served by the engine. */
function judgeUse(name, used, servedByNode, entry) {
  if (servedByNode && !used && !entry) {
    return [`${name} passes, but node:http served it: fix, or list it under nodeServes`];
  }
  return used && entry ? [`${name} is served by the engine: take it out of nodeServes`] : [];
}

function summarise(counts) {
  const { plainPass, plainSkip, plainFail, pass, unused, fail } = counts;
  const share = (part, whole) => (whole === 0 ? 'none' : `${((100 * part) / whole).toFixed(1)} %`);
  return [
    `plain: ${plainPass} pass, ${plainSkip} skip, ${plainFail} fail.`,
    `Under Portico: ${pass + unused} of ${plainPass} (${share(pass + unused, plainPass)});`,
    `served by the engine: ${pass} of ${pass + fail} (${share(pass, pass + fail)});`,
    `engine not involved: ${unused}; differ: ${fail}.`,
  ].join(' ');
}
