package slim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/config/slim"
)

const sample = `{
  "$schema": "https://example.com/schema.json",
  "preset": "mine", // in force
  "presets": {
    "mine": {
      "explorer": { "model": "openai/small", "temperature": 0.1 },
      "fixer": { "model": ["anthropic/big", { "id": "openai/other", "variant": "high" }] },
      "oracle": { "model": "openai/lost" },
      "marketplace": { "agents": ["acme/reviewer"], "agents_remove": ["acme/old"] }
    },
    "other": { "explorer": { "model": "openai/never" } }
  },
  "agents": { "oracle": { "model": { "id": "anthropic/deep", "variant": "max" } }, "orchestrator": { "model": "anthropic/main" } },
  "webfetch": { "enabled": true, "model": ["a/b", { "id": "c/d", "variant": "low" }], "cookies": 1 },
  "disabled_tools": ["marketplace"],
  "disabled_agents": ["observer"],
  "acpAgents": { "claude": { "command": "claude-code-acp", "args": ["-x"], "env": { "A": "b" }, "permissionMode": "ask" } },
  "backgroundJobs": {
    "wallClockTimeoutMs": 90500,
    "stopConfirmationMs": 4000,
    "concurrency": { "default": 6, "provider": { "openai": 2 }, "model": { "openai/small": "many" } },
    "strategy": "latest"
  },
  "council": { "default_preset": "three", "presets": { "three": { "alpha": { "model": "x/y", "prompt": "p" } }, "two": {} } },
  "tmux": {},
  "companion": 1,
}`

func TestRead(t *testing.T) {
	got, err := slim.Read([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var settings, notes []string
	for _, s := range got.Settings {
		settings = append(settings, fmt.Sprintf("%d %s -> %s = %v", s.Line, s.From, strings.Join(s.Path, "."), s.Value))
	}
	for _, n := range got.Notes {
		notes = append(notes, fmt.Sprintf("%d %s", n.Line, n.From))
	}
	slices.Sort(settings)
	slices.Sort(notes)
	if diff := cmp.Diff([]string{
		"13 agents.oracle.model -> task.agents.oracle.model = anthropic/deep",
		"13 agents.orchestrator.model -> agent.model = anthropic/main",
		"14 webfetch.enabled -> webfetch.enabled = true",
		"14 webfetch.model -> webfetch.model = [a/b c/d#low]",
		"15 disabled_tools -> tools.disabled = [marketplace]",
		"17 acpAgents.claude.args -> task.acp.claude.args = [-x]",
		"17 acpAgents.claude.command -> task.acp.claude.command = claude-code-acp",
		"17 acpAgents.claude.env -> task.acp.claude.env = map[A:b]",
		"19 backgroundJobs.wallClockTimeoutMs -> task.maxRunS = 91",
		"20 backgroundJobs.stopConfirmationMs -> task.stopGraceMS = 4000",
		"21 backgroundJobs.concurrency.default -> task.total = 6",
		"21 backgroundJobs.concurrency.provider.openai -> task.models.openai = 2",
		"24 council.presets.three.alpha.model -> task.agents.councillor-alpha.model = x/y",
		"6 presets.mine.explorer.model -> task.agents.explorer.model = openai/small",
		"7 presets.mine.fixer.model -> task.agents.fixer.model = anthropic/big",
		"9 presets.mine.marketplace.agents.0 -> marketplace.packages.acme/reviewer = true",
		"9 presets.mine.marketplace.agents_remove.0 -> marketplace.packages.acme/old = false",
	}, settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"11 presets.other",
		"14 webfetch.cookies",
		"16 disabled_agents",
		"17 acpAgents.claude.permissionMode",
		"21 backgroundJobs.concurrency.model.openai/small",
		"22 backgroundJobs.strategy",
		"24 council.presets.three.alpha.prompt",
		"24 council.presets.two",
		"25 tmux",
		"26 companion",
		"6 presets.mine.explorer.temperature",
		"7 presets.mine.fixer.model",
		"8 presets.mine.oracle",
	}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"agents": 1, "presets": [], "preset": {}, "council": null, "backgroundJobs": {"concurrency": 3}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := slim.Read(text)
		if err != nil {
			return
		}
		for _, s := range got.Settings {
			if s.Line < 1 || len(s.Path) < 2 || s.From == "" {
				t.Errorf("%+v", s)
			}
		}
	})
}
