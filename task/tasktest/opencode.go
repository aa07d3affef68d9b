package tasktest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// OpenCodeHome returns a home for OpenCode in which it works with the model at
// the address, and asks nobody on the network.
func OpenCodeHome(t *testing.T, model string) string {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, ".config", "opencode")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(config, "opencode.json"), fmt.Sprintf(`{
		"model": "scripted/m", "small_model": "scripted/m", "autoupdate": false, "share": "disabled",
		"permission": {"bash": "allow", "edit": "allow"},
		"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "%s/v1", "apiKey": "k"},
			"models": {"m": {"limit": {"context": 200000, "output": 8000}}}}}}`, model))
	// It would fetch this package otherwise.
	write(filepath.Join(config, "package.json"), `{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}`)
	write(filepath.Join(config, "package-lock.json"), `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}}}`)
	if err := os.MkdirAll(filepath.Join(config, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

// OpenCodeEnv is the environment for that home.
func OpenCodeEnv(home string) map[string]string {
	env := map[string]string{
		"HOME": home, "OPENCODE_TEST_HOME": home,
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_DATA_HOME": filepath.Join(home, ".local", "share"),
		"XDG_CACHE_HOME": filepath.Join(home, ".cache"), "XDG_STATE_HOME": filepath.Join(home, ".local", "state"),
	}
	for _, off := range []string{"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "CLAUDE_CODE", "EXTERNAL_SKILLS", "TERMINAL_TITLE"} {
		env["OPENCODE_DISABLE_"+off] = "1"
	}
	return env
}
