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
	among  int                  // files of the language, once they have been counted
	chosen map[string]selection // by the needles
	vain   string               // shape of the reading that found nothing already
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
	strict := reading{pattern: s.q.Pattern, selector: s.q.Selector, strictness: s.q.Strictness}
	ahead := s.ahead(ctx, strict, need)
	strict, err := s.read(ctx, s.lang, strict)
	why, wrong := refused(err)
	sound := err == nil && strict.tree != nil && !strict.tree.broken()
	if err != nil && !wrong {
		ahead.cancel()
		return nil, err
	}
	if sound {
		if f, err := s.meant(ctx, strict, need); err != nil || f != nil {
			ahead.cancel()
			return f, err
		}
	}
	var first *finding
	if err == nil && (strict.tree == nil || sound) {
		if first, err = ahead.wait(strict); first == nil && err == nil {
			first, err = s.once(ctx, strict, need)
		}
		if err != nil || first.total > 0 || first.reason != "" {
			return first, err
		}
	}
	ahead.cancel()
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

// A run is a search that has been begun before the pattern was read.
type run struct {
	stop context.CancelFunc // nil: none was begun
	done chan struct{}
	f    *finding
	err  error
}

// ahead begins to search for a pattern without words while the engine is asked
// how it reads it: nothing can be left out for it, whatever the answer is.
func (s *searcher) ahead(ctx context.Context, r reading, need int) *run {
	a := &run{}
	if s.q.Rewrite != nil || hasWord(r.pattern) || s.overlap || s.filters.any() {
		return a
	}
	ctx, a.stop = context.WithCancel(ctx)
	a.done = make(chan struct{})
	go func() {
		defer close(a.done)
		a.f = &finding{reading: r, selection: selection{whole: true}}
		a.f, a.err = s.search(ctx, a.f, need)
	}()
	return a
}

// wait returns what was found for the reading; nil if nothing was begun.
func (a *run) wait(r reading) (*finding, error) {
	if a.stop == nil {
		return nil, nil
	}
	<-a.done
	a.stop()
	if a.f != nil {
		a.f.reading = r
	}
	return a.f, a.err
}

// cancel ends the run, if there is one.
func (a *run) cancel() {
	if a.stop != nil {
		a.stop()
		<-a.done
	}
}

// hasWord tells whether there may be a word that files must hold: two bytes of
// one, outside meta-variables.
func hasWord(pattern string) bool {
	for _, v := range variables(pattern) {
		pattern = strings.ReplaceAll(pattern, v, " ")
	}
	n := 0
	for i := range len(pattern) {
		if c := pattern[i]; !wordByte(c) && c < 0x80 {
			n = 0
		} else if n++; n == 2 {
			return true
		}
	}
	return false
}

// meant searches at once for what a pattern means that by itself is something
// else, which its words rule out in code that is sound. It returns nil if that
// isn't so, or finds nothing.
func (s *searcher) meant(ctx context.Context, strict reading, need int) (*finding, error) {
	// In Go "errors.New($A)" alone is the conversion to a type; in a function
	// what begins with a qualified name is parsed as a call.
	n := strict.tree
	if s.lang.name != "go" || s.q.Selector != "" || n.kind != "type_conversion_expression" || len(n.children) == 0 || n.children[0].kind != "qualified_type" {
		return nil, nil
	}
	wrap := s.lang.wraps[0]
	r, err := s.read(ctx, s.lang, wrapped(wrap, s.q))
	if err != nil || r.tree == nil || r.tree.broken() {
		return nil, ctx.Err()
	}
	if n = part(r.tree, squeeze(trimmed(s.q.Pattern))); n == nil || n.kind != "call_expression" {
		return nil, nil
	}
	r.tree, r.selector, r.alone = n, n.kind, "a type conversion"
	f, err := s.once(ctx, r, need)
	if err != nil || f.total == 0 && f.reason == "" {
		s.vain = shape(r.tree)
		return nil, err
	}
	f.sound = true
	return f, nil
}

// once searches for one reading of the pattern.
func (s *searcher) once(ctx context.Context, r reading, need int) (*finding, error) {
	if s.q.Rewrite != nil && r.rule == "" { // in a rule the engine checks it
		if err := checkRewrite(*s.q.Rewrite, r.vars()); err != nil {
			return nil, err
		}
	}
	needles := r.needles(s.lang)
	if s.q.Whole {
		needles = nil
	}
	f := &finding{reading: r}
	if s.isAbsent(needles) {
		f.collector, f.seen = newCollector(need, nil), s.among
		return f, nil
	}
	var err error
	if f.selection, err = s.choose(ctx, needles); err != nil {
		return nil, err
	}
	return s.search(ctx, f, need)
}

// choose finds the files that hold the needles.
func (s *searcher) choose(ctx context.Context, needles []needle) (selection, error) {
	key := ""
	for _, n := range needles {
		key += fmt.Sprintf("%q %v\n", n.text, n.whole)
	}
	if sel, ok := s.chosen[key]; ok {
		return sel, nil
	}
	sc := scan{places: s.places, overlap: s.overlap, lang: s.lang, filters: s.filters, needles: needles}
	sel, err := sc.run(ctx)
	if err != nil {
		return sel, err
	}
	if s.chosen == nil {
		s.chosen = map[string]selection{}
	}
	s.chosen[key], s.among = sel, max(s.among, sel.seen)
	if !sel.whole && len(sel.files) == 0 && len(needles) > 0 {
		s.absent = append(s.absent, needles)
	}
	return sel, nil
}

// search gives the finding's files to the engine and collects what it finds.
func (s *searcher) search(ctx context.Context, f *finding, need int) (*finding, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f.collector = newCollector(need, func() { stop(errEnough) })
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
