import { defineConfig } from "vitest/config";
import { singleFile } from "./build/single-file.js";

export default defineConfig({
  plugins: [singleFile()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    reportCompressedSize: false,
  },
  test: {
    projects: [
      { test: { name: "unit", include: ["test/**/*.test.{ts,tsx}"], environment: "jsdom" }, esbuild: { jsx: "automatic", jsxImportSource: "preact" } },
      { test: { name: "e2e", include: ["e2e/**/*.test.ts"], environment: "node", retry: 1, hookTimeout: 600_000, testTimeout: 60_000 } },
    ],
  },
});
