// Folds the case of text for searches.

/**
 * Folds a text to one case, by the mappings of Unicode, for any language: `Straße` and `STRASSE` are the same, and so
 * are `İ` and `i̇`, `σ` and `ς`, `ı` and `i`. Lower case comes first, because only that splits `İ`. A part of a text
 * folds as it does in the whole.
 */
export const fold = (text: string): string => text.toLowerCase().toUpperCase();
