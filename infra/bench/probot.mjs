// A Probot application that does nothing with a delivery: `node probot.mjs FOLDER PORT SECRET`, FOLDER holds its modules.
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, port, secret] = process.argv.slice(2);
const { Probot, Server } = await import(pathToFileURL(join(folder, "node_modules/probot/lib/index.js")));
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});
const server = new Server({
  port: Number(port),
  host: "127.0.0.1",
  webhookPath: "/webhooks/github",
  Probot: Probot.defaults({ appId: 1, privateKey, secret, logLevel: "warn" }),
});
await server.load((app) => {
  app.on(["issues", "push"], () => {});
});
await server.start();
