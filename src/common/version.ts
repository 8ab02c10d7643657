// Generated from package.json by `npm run generate`.

/** The version of this package. */
export const version = "0.4.0";
