package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

const (
	skillName     = "skill"
	maxSkillFile  = 128 << 10
	maxSkillFiles = 100 // that are listed
)

type skillInput struct {
	Name string `json:"name" doc:"the skill's name as it is listed" alias:"skill"`
	File string `json:"file,omitempty" doc:"a file of the skill to read in place of its text, by its path in the skill's directory" alias:"path" eg:"references/style.md"`
}

type skillText string

func (t skillText) String() string { return string(t) }

// skillTool reads skills and the files beside them.
func (s Set) skillTool() whet.Tool {
	t := whet.New(skillName, `Read a skill
A skill is instructions for a kind of work, with files that go with it. Read the one that
fits before you begin that work. Scripts of a skill are run by nobody but you, with bash.`,
		func(_ context.Context, _ *whet.Call, in skillInput) (skillText, error) {
			p, k, err := s.skill(in.Name)
			if err != nil {
				return "", err
			}
			if in.File != "" {
				text, err := skillFile(p, k, in.File)
				return skillText(text), err
			}
			return skillText(skillBody(p, k)), nil
		})
	t.ReadOnly, t.Idempotent = true, true
	return t
}

// skill finds a skill by any of its names.
func (s Set) skill(name string) (market.Package, plugin.Skill, error) {
	var names []string
	for _, p := range s {
		for _, k := range p.Plugin.Skills {
			if slices.Contains(p.Skills[k.Name], name) {
				return p, k, nil
			}
			names = append(names, p.Skills[k.Name]...)
		}
	}
	return market.Package{}, plugin.Skill{}, fmt.Errorf("no skill is called %q; there are %s", name, strings.Join(names, ", "))
}

func skillBody(p market.Package, k plugin.Skill) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n%s\n", p.Provenance(), k.Body)
	if files := skillFiles(p, k); len(files) > 0 {
		fmt.Fprintf(&b, "\nFiles of this skill, below %s: %s", skillDir(p, k), strings.Join(files, ", "))
	}
	return b.String()
}

func skillDir(p market.Package, k plugin.Skill) string {
	return filepath.Join(p.Root, filepath.FromSlash(path.Dir(k.File)))
}

// skillFiles lists the files beside a skill's text.
func skillFiles(p market.Package, k plugin.Skill) (files []string) {
	root, err := os.OpenRoot(skillDir(p, k))
	if err != nil {
		return nil
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || name == path.Base(k.File):
			return nil // an unreadable directory has no files to offer
		case len(files) == maxSkillFiles:
			return fs.SkipAll
		}
		files = append(files, name)
		return nil
	})
	return files
}

func skillFile(p market.Package, k plugin.Skill, file string) (string, error) {
	trouble := func(err error) (string, error) {
		return "", fmt.Errorf("%s of the skill %s can't be read: %w; it has %s", file, k.Name, err, strings.Join(skillFiles(p, k), ", "))
	}
	root, err := os.OpenRoot(skillDir(p, k))
	if err != nil {
		return trouble(err)
	}
	defer root.Close()
	name := filepath.FromSlash(file)
	b, err := plainfile.ReadIn(root, name, maxSkillFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return trouble(errors.New("there is no such file"))
	case errors.Is(err, plainfile.ErrSpecial), errors.Is(err, plainfile.ErrLarge):
		return trouble(fmt.Errorf("it is not a file of at most %d KiB", maxSkillFile>>10))
	case err != nil:
		return trouble(err)
	}
	if !utf8.Valid(b) {
		return trouble(errors.New("it is not text"))
	}
	return p.Provenance() + ":\n\n" + string(b), nil
}
