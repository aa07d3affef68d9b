package loop

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Page is what a read has shown of a file.
type Page struct {
	File  string `json:"f"`           // digest of its path
	First int    `json:"a,omitempty"` // the first line asked for, as the host counts
	Lines int    `json:"l"`           // how many lines came
}

// pages counts reads of one file with nothing else read or changed between.
type pages struct {
	File  string `json:"f"`
	Reads int    `json:"n"`
	Lines int    `json:"l"` // that all these reads showed
	End   int    `json:"e"` // the furthest line that any of them showed
}

// Reads of one file before the model is told, if they have shown more than
// pagingOver times what there is of it: who reads a long file once from end to
// end, page by page, is not stuck.
const (
	pagingAt   = 40
	pagingOver = 3
)

var (
	pathArgs = [...]string{"path", "file_path", "filePath", "filename", "file", "absolute_path", "dir", "directory"}
	fromArgs = [...]string{"offset", "start_line", "startLine", "line_start", "line"}
	sizeArgs = [...]string{"limit", "lines", "num_lines", "end_line", "endLine", "line_end", "head_limit", "view_range"}
)

// part reports whether an argument of a call only says which part of what it
// finds is wanted. Where another part gives the same result, it was no news.
func part(tool, name string) bool {
	switch strings.ToLower(tool) {
	case "read", "grep", "glob":
		return slices.Contains(fromArgs[:], name) || slices.Contains(sizeArgs[:], name)
	}
	return false
}

// newPage describes what a call has read; nil if it is no read of a file.
func newPage(tool string, args json.RawMessage, text string, failed bool) *Page {
	var m map[string]any
	if failed || !strings.EqualFold(tool, "read") || json.Unmarshal(args, &m) != nil {
		return nil
	}
	number := func(names ...string) int {
		for _, name := range names {
			if f, ok := m[name].(float64); ok && f > 0 && f < 1<<30 {
				return int(f)
			}
		}
		return 0
	}
	for _, name := range pathArgs {
		file, _ := m[name].(string)
		if file == "" {
			continue
		}
		p := Page{File: sum(path.Clean(file)), First: number(fromArgs[:]...), Lines: strings.Count(text, "\n") + 1}
		if limit := number("limit", "lines", "num_lines"); limit > 0 {
			p.Lines = min(p.Lines, limit) // hosts add lines of their own
		}
		return &p
	}
	return nil
}

// paging counts a step and returns what to tell a model that pages through one
// file on and on; "" for nothing.
func (w *Watch) paging(s Step) string {
	switch {
	case s.Mutates || s.Shell:
		w.Pages = pages{}
		return ""
	case s.Page == nil:
		return ""
	case w.Pages.File != s.Page.File:
		w.Pages = pages{File: s.Page.File}
	}
	p := &w.Pages
	p.Reads++
	p.Lines += s.Page.Lines
	p.End = max(p.End, s.Page.First+s.Page.Lines)
	if p.Reads < pagingAt || p.Lines <= pagingOver*p.End || !w.news("paging "+p.File, p.Reads) {
		return ""
	}
	return fmt.Sprintf("[LOOP GUARD] The last %d reads were all of this one file, which they have shown about %d times by now, and nothing in it has changed. Reading on will not help: search it for what you need, use what you have read, or say what blocks you.", p.Reads, p.Lines/p.End)
}
