package market

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/source"
	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

// A candidate is a package that was read and found right, not yet kept.
type candidate struct {
	id    string
	tree  tree.Tree
	pkg   store.Package
	notes []string
}

// fetch reads what is at path. A plugin of a catalogue is chosen by "#NAME"
// behind it; of one without a choice there is only the catalogue.
func (m *Market) fetch(ctx context.Context, path string) (convert.Result, source.Info, error) {
	path, sub := source.Split(m.absolute(path))
	t, info, err := source.Read(ctx, path)
	if err != nil {
		return convert.Result{}, info, err
	}
	r, err := convert.Import(t, info.Name, sub)
	return r, info, err
}

// absolute makes a path one that doesn't depend on the working directory. What
// isn't there stays as it is, for the reader to say why it won't do.
func (m *Market) absolute(path string) string {
	if m.Dir == "" || path == "" || filepath.IsAbs(path) {
		return path
	}
	joined := filepath.Join(m.Dir, path)
	file, _, _ := strings.Cut(joined, "#")
	if i := strings.Index(file, ".bundle:"); i > 0 {
		file = file[:i+len(".bundle")]
	}
	if _, err := os.Lstat(file); err != nil && !strings.HasPrefix(path, ".") {
		return path
	}
	return joined
}

// candidate checks all that can be checked without the store.
func (m *Market) candidate(r convert.Result, info source.Info) (*candidate, error) {
	p, err := plugin.Parse(r.Tree)
	if err != nil {
		return nil, err
	}
	if !store.ValidID(p.ID) {
		return nil, errorf(InvalidPackage, "its id %.80q is not publisher/name in lower case", p.ID)
	}
	if err := m.compatible(p.Requires.Whet); err != nil {
		return nil, err
	}
	c := &candidate{id: p.ID, tree: r.Tree, pkg: store.Package{
		Version: p.Version, Versioned: p.Versioned, Tree: r.Tree.Digest(),
		Title: p.Title, Description: p.Description, Bytes: r.Tree.Size(),
		Source:     store.Source{Kind: info.Kind, Path: info.Path, Archive: info.Archive, Format: r.Format, Commit: info.Commit, Upstream: r.Upstream},
		Components: components(p), Lint: lint(p), InstalledAt: time.Now().UTC().Truncate(time.Second),
		Requires: store.Requires{Skills: p.Requires.Skills, MCP: p.Requires.MCP, Tools: p.Requires.Tools},
	}}
	c.pkg.Files = bytes.Count(r.Tree.Listing(), []byte("\n")) - 1
	if c.pkg.Components.Executable() > 0 {
		c.pkg.Exec = plugin.Exec(r.Tree).Digest()
	}
	for _, n := range append(append(info.Notes, r.Notes...), p.Notes...) {
		c.notes = append(c.notes, strings.TrimSpace(fmt.Sprintf("%s: %s %s", n.Code, n.File, n.Text)))
	}
	return c, m.signed(c)
}

func (m *Market) compatible(want string) error {
	if want == "" || m.Version == "" {
		return nil
	}
	release, _, _ := strings.Cut(m.Version, "-") // what comes before a release counts as it
	ok, err := within(release, want)
	if err != nil {
		return errorf(InvalidPackage, "it requires whet %q, which is no range of versions: %v", want, err)
	}
	if !ok && plugin.ValidVersion(m.Version) { // else a build of somebody's own
		return errorf(Incompatible, "it requires whet %s, and this is %s", want, m.Version)
	}
	return nil
}

// signed looks at the signatures. A bad one is never taken.
func (m *Market) signed(c *candidate) error {
	c.pkg.Signature = store.Signature{Status: "none"}
	if m.Sign != nil {
		publisher, _, _ := strings.Cut(c.id, "/")
		var err error
		if c.pkg.Signature, err = m.Sign(statement(c.id, c.pkg), publisher, c.tree); err != nil {
			return err
		}
	}
	return m.acceptable(c.id, c.pkg)
}

// acceptable applies the person's rule about signatures.
func (m *Market) acceptable(id string, p store.Package) error {
	publisher, _, _ := strings.Cut(id, "/")
	rule := m.activation().Options.RequireSignature
	switch status := p.Signature.Status; {
	case status == "bad":
		return errorf(BadSignature, "the signature of %s is not of these files, or not for packages; don't use them", id)
	case status == "valid":
		return nil
	case rule == "always", rule == "known-publisher" && m.Known != nil && m.Known(publisher):
		return errorf(BadSignature, "%s: the signature is %s, and marketplace.requireSignature is %s", id, status, rule)
	}
	return nil
}

func components(p *plugin.Plugin) store.Components {
	c := store.Components{Hooks: len(p.Hooks)}
	for _, x := range p.Agents {
		c.Agents = append(c.Agents, x.Name)
	}
	for _, x := range p.Skills {
		c.Skills = append(c.Skills, x.Name)
	}
	for _, x := range p.Commands {
		c.Commands = append(c.Commands, x.Name)
	}
	for _, x := range p.Instructions {
		c.Instructions = append(c.Instructions, x.Name)
	}
	for _, x := range p.Servers {
		c.MCP = append(c.MCP, x.Name)
	}
	for _, x := range p.Formatters {
		c.Formatters = append(c.Formatters, x.Name)
	}
	return c
}
