// Folds the case of text, so that a search finds it however it is written.

/**
 * A text in one case, by the mappings of Unicode, whatever the language: `Straße` and `STRASSE` are the same, and so are `İ`
 * and `i̇`, `σ` and `ς`, `ı` and `i`. Lower case comes first, because only that takes `İ` apart. A part of a text folds as
 * it does in the whole.
 */
export const fold = (text: string): string => text.toLowerCase().toUpperCase();
