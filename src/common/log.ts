// The log writes one line per event, whatever a client put into the values. Callers never pass keys or bodies.
import type { Clock } from "./domain.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export const logFormats = ["text", "json"] as const;

/** The lowest level that is logged. Each level includes those after it. */
export type LogLevel = (typeof logLevels)[number];
/** `text` is for people, `json` for programs. Both write one line per event. */
export type LogFormat = (typeof logFormats)[number];

/** Fields of an event in addition to its message. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/**
 * Writes events at or above its level. Loggers with a `child`, such as pino, take their arguments in the reverse order
 * and do not fit.
 */
export type Log = Record<LogLevel, (message: string, fields?: LogFields) => void> & { child?: never };

/**
 * Creates a log that passes each line to `write`, without a line break.
 *
 * @example
 * const log = createLog({ level: "info", format: "json", clock: Date.now, write: (line) => console.log(line) });
 */
export const createLog = (
  { level, format, clock, write }: { level: LogLevel; format: LogFormat; clock: Clock; write: (line: string) => void },
): Log => logOf(level, format === "json" ? jsonLine : textLine, clock, write);

type FormatLine = (time: string, level: LogLevel, message: string, fields: LogFields) => string;

/** Takes the format as an argument, as the core, which logs text to the console, contains only that one. */
function logOf(level: LogLevel, formatLine: FormatLine, clock: Clock, write: (line: string) => void): Log {
  let time = { at: NaN, text: "" };

  const at = (eventLevel: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (logLevels.indexOf(eventLevel) < logLevels.indexOf(level)) return;
    const now = clock();
    // Every request logs a line, and most of them share their millisecond with others.
    if (now !== time.at) time = { at: now, text: new Date(now).toISOString() };
    write(formatLine(time.text, eventLevel, message, fields));
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A logger that takes its arguments in the order of pino: the fields first. */
export type PinoLike = Record<LogLevel, (fields: object, message: string) => void>;

/**
 * Adapts a logger such as pino, bunyan, or that of Fastify.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", log: fromPino(pino()) });
 */
export function fromPino(logger: PinoLike): Log {
  const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => logger[level](fields, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Writes warnings and errors to the console. */
export const consoleLog: Log = logOf("warn", textLine, Date.now, (line) => console.error(line));

/** An error's name, code and message, and those of its causes. This is for the log, never for a client. */
export function describeError(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? ` ${error.code}` : "";
  const hasMore = error.cause !== undefined && !repeats(error, error.cause) && depth < maxCauses;
  const cause = hasMore ? ` because of ${describeError(error.cause, depth + 1)}` : "";
  return `${error.name}${code}: ${error.message}${cause}`;
}

const maxCauses = 5;

const repeats = (error: Error, cause: unknown) => cause instanceof Error && error.message.includes(cause.message);

function jsonLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const members = JSON.stringify(fields);
  const rest = members === "{}" ? "}" : `,${members.slice(1)}`;
  return oneLine(`{"time":"${time}","level":"${level}","message":${JSON.stringify(message)}${rest}`);
}

function textLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  let line = `${time} ${level.padEnd(5)} ${oneLine(message)}`;
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    line += ` ${name}=${typeof value !== "string" || isWord.test(value) ? value : oneLine(JSON.stringify(value))}`;
  }
  return line;
}

const isWord = /^[\w.:/@+-]+$/;

/** Escapes all control characters, even those that JSON allows. They could break the line or control a terminal. */
const oneLine = (text: string) =>
  // deno-lint-ignore no-control-regex
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (char) =>
    `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
