// A Vite plugin: puts script and style into the page itself, under a policy that forbids everything else.
import { createHash } from "node:crypto";

/** @returns {import("vite").Plugin} */
export function singleFile() {
  return {
    name: "assay-single-file",
    enforce: "post",
    apply: "build",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName === "index.html");
      const scripts = files.filter((file) => file.type === "chunk");
      const styles = files.filter((file) => file.fileName.endsWith(".css"));
      if (page?.type !== "asset" || scripts.length !== 1) {
        this.error("the page must consist of one index.html and one script");
      }
      page.source = assemble(String(page.source), scripts[0].code, styles.map((file) => String(file.source)).join(""));
      for (const file of [...scripts, ...styles]) delete bundle[file.fileName];
    },
  };
}

function assemble(page, code, css) {
  const script = `\n${code.replaceAll("</script", "<\\/script").trim()}\n`;
  const hash = createHash("sha256").update(script).digest("base64");
  // Observable Plot sets style attributes and adds a style element to each chart, hence 'unsafe-inline' for styles only.
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
  // Replacements are functions because `$&` and its kin occur in the bundle.
  return page
    .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
    .replace(/\s*<script type="module"[^>]*><\/script>/g, "")
    .replace(/<meta charset="utf-8" ?\/?>/, (meta) => `${meta}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`)
    .replace("</head>", () => `  <style>${css.trim()}</style>\n  </head>`)
    .replace("</body>", () => `  <script type="module">${script}</script>\n  </body>`);
}
