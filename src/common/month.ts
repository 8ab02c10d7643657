// The quota window: a calendar month in UTC, written YYYY-MM.

/** The month of a time in Unix ms. */
export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** The first moment after a month, in Unix ms: when its quota resets. */
export function endOfMonth(month: string): number {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return Date.UTC(year, number, 1);
}

/** The first moment of a month, in Unix ms. */
export const startOfMonth = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** True if a text is a month as this service writes it. */
export const isMonth = (text: string): boolean => /^[1-9]\d{3}-(0[1-9]|1[0-2])$/.test(text);
