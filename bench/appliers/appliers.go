// Package appliers finds the other appliers of patches that scripts/peers
// installs.
package appliers

import (
	"errors"
	"os"
	"path/filepath"
)

// The names and versions of the peers.
const (
	CodexName = "Codex 0.171.0"
	SlimName  = "oh-my-opencode-slim 2.2.24"
)

// Codex returns the path of the real binary; called "apply_patch", it is its
// applier.
func Codex() (string, error) {
	bins, _ := filepath.Glob(".peers/node_modules/@openai/codex-*/vendor/*/bin/codex")
	if len(bins) == 0 {
		return "", errors.New("@openai/codex is not installed; run scripts/peers")
	}
	return filepath.Abs(bins[0])
}

// Slim makes dir a place in which "node slim.mjs" runs driver with the functions
// of the published oh-my-opencode-slim, which its bundle doesn't export.
func Slim(dir string, driver []byte) error {
	modules, err := filepath.Abs(".peers/node_modules")
	if err != nil {
		return err
	}
	bundle, err := os.ReadFile(filepath.Join(modules, "oh-my-opencode-slim", "dist", "index.js"))
	if err != nil {
		return errors.New("oh-my-opencode-slim is not installed; run scripts/peers")
	}
	bundle = append(bundle, "\nexport { parsePatchStrict, resolveUpdateChunksFromText, applyHits, APPLY_PATCH_RESCUE_OPTIONS };\n"...)
	return errors.Join(
		os.Symlink(modules, filepath.Join(dir, "node_modules")),
		os.WriteFile(filepath.Join(dir, "slim-bundle.mjs"), bundle, 0o600),
		os.WriteFile(filepath.Join(dir, "slim.mjs"), driver, 0o600),
	)
}
