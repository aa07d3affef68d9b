package astgrep

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A searcher is one query under way.
type searcher struct {
	*workspace
	q       *Query
	lang    language
	filters filters
	places  []place
	overlap bool
	// absent are sets of words that no file holds together.
	absent [][]needle
}

// Search runs a query. Its errors are for people and models alike: what was
// wrong, and what to do. No match is not an error.
func Search(ctx context.Context, e Engine, q Query) (*Answer, error) {
	s, err := begin(e, &q)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f, err := s.find(ctx, q.Offset+q.Limit)
	if err != nil {
		return nil, err
	}
	return s.answer(f)
}

func begin(e Engine, q *Query) (*searcher, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	s := &searcher{q: q}
	var err error
	if s.lang, err = findLanguage(q.Lang); err != nil {
		return nil, err
	}
	if s.filters, err = compileFilters(q.Globs); err != nil {
		return nil, err
	}
	if s.places, s.overlap, err = q.places(); err != nil {
		return nil, err
	}
	s.workspace, err = open(e, q.Dir, q.Timeout)
	return s, err
}

// A finding is what the engine found, by the reading that found it.
type finding struct {
	*collector
	selection
	reading
	reason string // why it is not all; "" if it is
	warned bool   // a part of the pattern could not be parsed
	sound  bool   // the pattern is code as it stands
	hint   string
}

// find searches: for the pattern as it stands, and if that is no code or finds
// nothing, for what else it may have meant.
func (s *searcher) find(ctx context.Context, need int) (*finding, error) {
	if s.q.Rule != "" {
		f, err := s.once(ctx, reading{rule: s.q.Rule}, need)
		if err == nil && f.total == 0 {
			f.hint = s.hint(f)
		}
		return f, err
	}
	strict, err := s.read(ctx, s.lang, reading{pattern: s.q.Pattern, selector: s.q.Selector, strictness: s.q.Strictness})
	why, wrong := refused(err)
	if err != nil && !wrong {
		return nil, err
	}
	var first *finding
	sound := err == nil && strict.tree != nil && !strict.tree.broken()
	if err == nil && (strict.tree == nil || !strict.tree.broken()) {
		if first, err = s.once(ctx, strict, need); err != nil || first.total > 0 || first.reason != "" {
			return first, err
		}
	}
	for _, r := range s.repairs(ctx, strict) {
		f, err := s.once(ctx, r, need)
		if err != nil {
			return nil, err
		}
		if f.sound = sound; f.total > 0 {
			return f, nil
		}
	}
	switch {
	case wrong:
		return nil, errors.New(s.explain(ctx, why))
	case first == nil: // the engine may yet make sense of the broken pattern
		if first, err = s.once(ctx, strict, need); err != nil {
			return nil, err
		}
		first.warned = true
	}
	if first.total == 0 {
		first.hint = s.hint(first)
	}
	return first, nil
}

// once searches for one reading of the pattern.
func (s *searcher) once(ctx context.Context, r reading, need int) (*finding, error) {
	if s.q.Rewrite != nil && r.rule == "" { // in a rule the engine checks it
		if err := checkRewrite(*s.q.Rewrite, r.vars()); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := &finding{reading: r, collector: newCollector(need, func() { stop(errEnough) })}
	needles := r.needles(s.lang)
	if s.q.Whole {
		needles = nil
	}
	if s.isAbsent(needles) {
		return f, nil
	}
	sc := scan{places: s.places, overlap: s.overlap, lang: s.lang, filters: s.filters, needles: needles}
	var err error
	if f.selection, err = sc.run(ctx); err != nil {
		return nil, err
	}
	if !f.whole && len(f.files) == 0 && len(needles) > 0 {
		s.absent = append(s.absent, needles)
	}
	switch err := s.hand(ctx, f); {
	case err == nil:
	case errors.Is(err, errTimeout):
		f.reason = "timeout"
	case errors.Is(err, errEnough):
		f.reason = "max_output_bytes"
	default:
		return nil, err
	}
	return f, nil
}

// isAbsent tells whether no file can hold the needles, because none held some
// of them.
func (s *searcher) isAbsent(needles []needle) bool {
	for _, set := range s.absent {
		all := true
		for _, a := range set {
			has := false
			for _, n := range needles {
				has = has || string(n.text) == string(a.text)
			}
			all = all && has
		}
		if all {
			return true
		}
	}
	return false
}

// hand gives the selected files to the engine.
func (s *searcher) hand(ctx context.Context, f *finding) error {
	args, err := s.args(f.reading)
	if err != nil {
		return err
	}
	if f.whole {
		args = append(args, "--inspect=summary", "--")
		for _, p := range s.places {
			args = append(args, p.name)
		}
		text, err := s.workspace.run(ctx, f.collector, args...)
		f.seen = scanned(text)
		return err
	}
	// The files are chosen: no rule of the engine's may drop one.
	for _, kind := range []string{"hidden", "dot", "exclude", "global", "parent", "vcs"} {
		args = append(args, "--no-ignore="+kind)
	}
	args = append(args, "--")
	done := 0
	for _, b := range batches(f.files, maxArgs()) {
		if s.q.Report != nil {
			s.q.Report(int64(done), int64(len(f.files)), "searching files that may match")
		}
		done += len(b)
		if _, err := s.workspace.run(ctx, f.collector, append(args[:len(args):len(args)], b...)...); err != nil {
			return err
		}
	}
	return nil
}

func (s *searcher) args(r reading) ([]string, error) {
	args := []string{"run", "--lang=" + s.lang.name, "--pattern=" + r.pattern}
	if r.rule != "" {
		rule, err := fullRule(r.rule, s.lang.name, s.q.Rewrite)
		if err != nil {
			return nil, err
		}
		args = []string{"scan", "--inline-rules=" + rule}
	} else {
		if r.selector != "" {
			args = append(args, "--selector="+r.selector)
		}
		if r.strictness != "" {
			args = append(args, "--strictness="+r.strictness)
		}
		if s.q.Rewrite != nil {
			args = append(args, "--rewrite="+*s.q.Rewrite)
		}
	}
	if s.q.Context > 0 {
		args = append(args, "--context="+strconv.Itoa(s.q.Context))
	}
	return append(args, "--json=stream", "--color=never"), nil
}

// scanned reads from the engine's account how many files it parsed.
func scanned(text string) int {
	m := regexp.MustCompile(`scannedFileCount=(\d+)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// fullRule makes the rule that the engine takes of one in short: the matchers
// alone, or with constraints and the like beside a "rule".
func fullRule(rule, lang string, rewrite *string) (string, error) {
	if strings.Contains("\n"+rule, "\n---") {
		return "", errors.New("the rule holds several YAML documents; give one")
	}
	key := func(name string) bool {
		return regexp.MustCompile(`(?m)^` + name + `\s*:`).MatchString(rule)
	}
	var b strings.Builder
	if !key("id") {
		b.WriteString("id: whet\n")
	}
	if !key("language") {
		fmt.Fprintf(&b, "language: %s\n", lang)
	}
	if rewrite != nil {
		if key("fix") {
			return "", errors.New("the rule has a fix and there is a rewrite; give one of them")
		}
		fmt.Fprintf(&b, "fix: %s\n", yamlString(*rewrite))
	}
	if !key("rule") {
		rule = "rule:\n  " + strings.ReplaceAll(strings.TrimSpace(rule), "\n", "\n  ")
	}
	return b.String() + rule + "\n", nil
}

// yamlString quotes s as YAML's double quotes want it, which take JSON's.
func yamlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
