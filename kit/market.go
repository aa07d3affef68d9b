package kit

import (
	"os"
	"slices"
	"sync"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/sign"
)

// Market returns the marketplace as it is seen from a project.
func Market(dir, worktree string) market.Market {
	keys := sign.Keys{Dir: config.UserDir(os.Getenv)}
	return market.Market{Where: Where(dir, worktree), Sign: keys.Verify, Known: keys.Known}
}

// Where says for which project packages are asked, and what they meet there.
func Where(dir, worktree string) market.Where {
	custom := sync.OnceValue(func() []agent.Role {
		home, _ := os.UserHomeDir() // "" has no agents
		roles, _ := agent.Custom(agent.Places(config.UserDir(os.Getenv), home, project.Worktree(dir)))
		return roles
	})
	return market.Where{
		Dir: dir, Worktree: worktree, Environ: os.Environ(),
		Has: func(kind, name string) bool {
			switch kind {
			case "agent":
				_, err := agent.FindRole(name)
				return err == nil || slices.ContainsFunc(custom(), func(r agent.Role) bool { return r.Name == name })
			case "tool":
				named := func(t whet.Tool) bool { return t.Name == name }
				return slices.ContainsFunc(tools(Config{}), named) || slices.ContainsFunc(agent.Tools(), named)
			}
			return false
		},
	}
}
