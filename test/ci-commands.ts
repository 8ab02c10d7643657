// Finds commands of CI systems in an output as these look for them, and not as the service avoids them.

/** The commands and the control characters in an output. `env` says which system reads it. */
export function commandsIn(text: string, env: Record<string, string | undefined>, isColoured = false): string[] {
  // deno-lint-ignore no-control-regex
  const bare = isColoured ? text.replace(/\x1b\[[\d;]*m/g, "") : text;
  return bare.split(/\r\n|\n|\r/).flatMap((line) => {
    const faults: string[] = [];
    const start = line.trimStart();
    for (const mark of ["##[", "##vso[", "##teamcity[", "##octopus["]) if (line.includes(mark)) faults.push(line);
    if (start.startsWith("::")) faults.push(line);
    if (env.BUILDKITE && ["---", "+++", "~~~", "^^^"].some((mark) => start.startsWith(mark))) faults.push(line);
    if (/[^\P{Cc}\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(line)) faults.push(line);
    return faults;
  });
}
