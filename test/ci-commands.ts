// What CI systems would take for a command in an output, found as they look for it, and not as the service avoids it.

/** The commands and the control characters in an output. `env` says which system reads it. */
export function commandsIn(text: string, env: Record<string, string | undefined>, isColoured = false): string[] {
  // deno-lint-ignore no-control-regex
  const bare = isColoured ? text.replace(/\x1b\[[\d;]*m/g, "") : text;
  return bare.split(/\r\n|\n|\r/).flatMap((line) => {
    const found: string[] = [];
    const start = line.trimStart();
    for (const mark of ["##[", "##vso[", "##teamcity[", "##octopus["]) if (line.includes(mark)) found.push(line);
    if (start.startsWith("::")) found.push(line);
    if (env.BUILDKITE && ["---", "+++", "~~~", "^^^"].some((mark) => start.startsWith(mark))) found.push(line);
    if (/[^\P{Cc}\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(line)) found.push(line);
    return found;
  });
}
