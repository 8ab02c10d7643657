import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { checkPrompts, readFolder } from "../../src/files/folder.ts";

const test = suite("paths of prompt files");

const warningsOf = (...paths: string[]) => {
  const texts = new Map(paths.map((path, nth) => [path, `---\nname: a${nth}\n---\nHello\n`]));
  const { prompts, faults } = readFolder(texts);
  assert.equal(faults, []);
  return checkPrompts(prompts).map(({ file, message, isWarning }) => [file, message, isWarning]);
};

test("a file that Windows cannot have is a warning", () => {
  for (const part of ["con.md", "nul.prompt.md", "COM1.md", "lpt9.a.md", "a:b.md", "a?.md", "aux", "a.", "a "]) {
    const path = part.endsWith(".md") ? `support/${part}` : `${part}/chat.md`;
    assert.equal(warningsOf(path), [[path, `Windows cannot have a file called ${part}`, true]]);
  }
  assert.equal(warningsOf("support/console.md", "a.b/.c/con-1.md", "com.md", "nulls/com10.md"), []);
});

test("two files whose paths differ in case alone are a warning", () => {
  assert.equal(warningsOf("a/Chat.md", "a/chat.md", "b/chat.md"), [
    ["a/chat.md", "On Windows and macOS this is the same file as a/Chat.md", true],
  ]);
});

test("files with a byte order mark and the line ends of Windows are the same prompts", () => {
  const source = '---\ntitle: "Greeting"\n---\n# system\nGreet {{name}}\n\n# user\nHello\nthere\n';
  const [plain, windows] = [source, `\ufeff${source.replaceAll("\n", "\r\n")}`].map((text) =>
    readFolder(new Map([["chat.md", text]])).prompts[0]!.content
  );
  assert.equal(windows, plain);
});

test.run();
