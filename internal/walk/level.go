package walk

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A level is a directory that has rules of its own, or begins a repository.
// Directories without either share the level above.
type level struct {
	parent *level
	prefix int      // length of the directory's absolute path and a slash
	own    [2]rules // .rgignore and .ignore, the stronger first
	git    rules    // .gitignore
	local  rules    // .git/info/exclude
	repo   bool     // has .git (or .jj)
}

// ruleSet is the rules in force for the entries of one directory.
type ruleSet struct {
	level  *level
	global rules // the person's core.excludesFile
	inRepo bool  // .gitignore counts only within a repository
}

// match applies the rules to the entry at the absolute path abs: the stronger
// kind of file wins, then the deeper one.
func (s ruleSet) match(abs, base string, dir bool) verdict {
	for kind := range 2 {
		for l := s.level; l != nil; l = l.parent {
			if v := l.own[kind].match(abs[l.prefix:], base, dir); v != silent {
				return v
			}
		}
	}
	if !s.inRepo {
		return silent
	}
	if v := s.matchGit(abs, base, dir); v != silent {
		return v
	}
	return s.global.match(strings.TrimPrefix(abs, "/"), base, dir)
}

// matchGit stops at the root of the repository: what lies around a nested one
// has no say in it.
func (s ruleSet) matchGit(abs, base string, dir bool) verdict {
	local := silent
	for l := s.level; l != nil; l = l.parent {
		if v := l.git.match(abs[l.prefix:], base, dir); v != silent {
			return v
		}
		if local == silent {
			local = l.local.match(abs[l.prefix:], base, dir)
		}
		if l.repo {
			break
		}
	}
	return local
}

// enter returns the rules for the entries of the directory at abs, which read
// and has look into.
func (s ruleSet) enter(abs string, dir lookup) ruleSet {
	if dir.root != nil && dir.names == nil {
		return s
	}
	l := &level{
		parent: s.level,
		prefix: len(strings.TrimSuffix(abs, "/")) + 1,
		own:    [2]rules{dir.rules(".rgignore"), dir.rules(".ignore")},
		git:    dir.rules(".gitignore"),
		repo:   dir.has(".git") || dir.has(".jj"),
	}
	if l.repo {
		l.local = dir.rules(excludeFile(dir))
		s.inRepo = true
	}
	if l.repo || l.own[0] != nil || l.own[1] != nil || l.git != nil {
		s.level = l
	}
	return s
}

// excludeFile is where a repository keeps rules that it doesn't share. In a
// linked worktree .git is a file that names the place.
func excludeFile(dir lookup) string {
	text := string(dir.read(".git"))
	if gitdir, ok := strings.CutPrefix(text, "gitdir:"); ok {
		gitdir = strings.TrimSpace(gitdir)
		if common := dir.read(filepath.Join(gitdir, "commondir")); common != nil {
			gitdir = absFrom(gitdir, strings.TrimSpace(string(common)))
		}
		return filepath.Join(gitdir, "info", "exclude")
	}
	return ".git/info/exclude"
}

func absFrom(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

// A lookup finds the files of a directory that set rules.
type lookup struct {
	root  *os.Root // nil: look at abs itself
	names []string // what root has by isRuleName
	abs   string
	noRg  bool // leave .rgignore unread
}

// isRuleName tells whether a directory entry called name sets rules.
func isRuleName(name string) bool {
	switch name {
	case ".rgignore", ".ignore", ".gitignore", ".git", ".jj":
		return true
	}
	return false
}

const maxRules = 4 << 20 // bytes of one ignore file; hostile ones are cut there

// read returns the text of a regular file, nil if there is none.
func (d lookup) read(name string) []byte {
	var f *os.File
	var err error
	if d.root != nil && filepath.IsLocal(name) {
		f, err = d.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	} else {
		f, err = os.OpenFile(absFrom(d.abs, name), os.O_RDONLY|nonblock, 0)
	}
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(f, maxRules))
	return text
}

func (d lookup) rules(name string) rules {
	if name == ".rgignore" && d.noRg || isRuleName(name) && !d.has(name) {
		return nil
	}
	return parseRules(d.read(name))
}

func (d lookup) has(name string) bool {
	if d.root != nil {
		return slices.Contains(d.names, name)
	}
	_, err := os.Lstat(filepath.Join(d.abs, name))
	return err == nil
}

// above returns the rules that the directories above abs and the person's git
// configuration set for it.
func above(abs string, noRg bool) ruleSet {
	s := ruleSet{global: globalRules()}
	var parents []string
	for p := filepath.Dir(abs); ; p = filepath.Dir(p) {
		parents = append(parents, p)
		if p == filepath.Dir(p) {
			break
		}
	}
	for i := len(parents) - 1; i >= 0; i-- {
		s = s.enter(filepath.ToSlash(parents[i]), lookup{abs: parents[i], noRg: noRg})
	}
	return s
}
