// What the host for Workers needs of the types of Cloudflare.
declare module "cloudflare:workers" {
  export const env: { DATABASE_URL: string; ADMIN_TOKEN: string; IS_HASTY: string };
}
