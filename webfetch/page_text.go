package webfetch

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	prettyLimit = 1 << 20 // JSON up to this is laid out anew
	tableRows   = 200     // CSV up to this becomes a table
)

// fenced puts text into a code block that it can't end.
func fenced(text, lang string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// readText makes a document of a text that isn't a page: the plain form is the
// text as it is.
func readText(d *document, text, mediaType, urlPath string) {
	d.Raw, d.Plain = text, text
	switch {
	case isMarkdown(mediaType):
		d.Kind, d.Markdown = "markdown", text
		d.Headings = markdownHeadings(text)
		if len(d.Headings) > 0 {
			d.Title = d.Headings[0]
		}
	case mediaType == "application/x-ipynb+json":
		d.Kind = "notebook"
		if !readNotebook(d, text) {
			readJSON(d, text)
		}
	case isJSON(mediaType):
		readJSON(d, text)
	case mediaType == "image/svg+xml":
		readSVG(d, text)
	case isXML(mediaType):
		readXML(d, text)
	case mediaType == "text/csv" || mediaType == "text/tab-separated-values":
		d.Kind = "csv"
		d.Markdown = csvTable(text, map[bool]rune{true: '\t', false: ','}[mediaType == "text/tab-separated-values"])
		if d.Markdown == "" {
			d.Markdown = fenced(text, "csv")
		}
	case strings.HasSuffix(strings.ToLower(urlPath), ".md") || strings.HasSuffix(strings.ToLower(urlPath), ".mdx") || strings.HasSuffix(urlPath, "/llms.txt") || strings.HasSuffix(urlPath, "/llms-full.txt"):
		d.Kind, d.Markdown = "markdown", text
		d.Headings = markdownHeadings(text)
	default:
		d.Kind, d.Markdown = "text", text
		if l := fenceLanguage(mediaType, urlPath); l != "" {
			d.Kind, d.Markdown = "source", fenced(text, l)
		}
	}
}

func markdownHeadings(s string) []string {
	var hs []string
	fence := ""
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.TrimRight(l, "\r")
		if fence = nextFence(fence, l); fence != "" {
			continue
		}
		t := strings.TrimLeft(l, "#")
		if n := len(l) - len(t); n >= 1 && n <= 3 && strings.HasPrefix(t, " ") {
			if hs = append(hs, clip(strings.TrimSpace(strings.TrimRight(t, "# ")), 200)); len(hs) == maxHeadings {
				break
			}
		}
	}
	return hs
}

// nextFence returns the fence that is open after line, given the one open
// before; "" when none is.
func nextFence(open, line string) string {
	t := strings.TrimLeft(line, " >")
	if open != "" {
		run := t[:len(t)-len(strings.TrimLeft(t, open[:1]))]
		if len(run) >= len(open) && strings.TrimSpace(t[len(run):]) == "" {
			return ""
		}
		return open
	}
	for _, c := range []string{"`", "~"} {
		run := t[:len(t)-len(strings.TrimLeft(t, c))]
		if len(run) >= 3 && (c == "~" || !strings.Contains(t[len(run):], "`")) {
			return run
		}
	}
	return ""
}

func readJSON(d *document, text string) {
	d.Kind = "json"
	text = strings.TrimPrefix(text, "\ufeff")
	pretty := text
	switch {
	case !json.Valid([]byte(text)):
		if !jsonLines(text) {
			d.Warning = joinNotes(d.Warning, "The body is not valid JSON")
		}
	case len(text) <= prettyLimit && minified(text):
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", "  ") == nil {
			pretty = b.String()
		}
	case len(text) > prettyLimit:
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			var b strings.Builder
			outline(&b, v, "", 0)
			d.Markdown = "The document is " + fmt.Sprint(len(text)) + " bytes of JSON. Its outline:\n\n" + fenced(b.String(), "") +
				"\nThe document itself:\n\n" + fenced(pretty, "json")
			return
		}
	}
	d.Markdown = fenced(pretty, "json")
}

func jsonLines(s string) bool {
	first, _, _ := strings.Cut(s, "\n")
	return json.Valid([]byte(first)) && strings.HasPrefix(strings.TrimSpace(first), "{")
}

// minified reports whether JSON is written in long lines.
func minified(s string) bool { return len(s) > 80*(strings.Count(s, "\n")+1) }

// outline describes the shape of a JSON value: keys, types, lengths.
func outline(b *strings.Builder, v any, indent string, depth int) {
	if b.Len() > 8000 || depth > 4 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for i, k := range keys {
			if i == 40 {
				fmt.Fprintf(b, "%s… %d more keys\n", indent, len(keys)-i)
				return
			}
			fmt.Fprintf(b, "%s%s: %s\n", indent, clip(k, 80), shapeOf(v[k]))
			outline(b, v[k], indent+"  ", depth+1)
		}
	case []any:
		if len(v) > 0 {
			fmt.Fprintf(b, "%s[0]: %s\n", indent, shapeOf(v[0]))
			outline(b, v[0], indent+"  ", depth+1)
		}
	}
}

func shapeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return fmt.Sprintf("object of %d", len(v))
	case []any:
		return fmt.Sprintf("array of %d", len(v))
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// csvTable turns a small CSV file into a table, "" if it isn't one.
func csvTable(text string, comma rune) string {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 || len(rows) > tableRows {
		return ""
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	if width < 2 || width > 60 {
		return ""
	}
	var b strings.Builder
	for i, row := range rows {
		b.WriteByte('|')
		for c := range width {
			cell := ""
			if c < len(row) {
				cell = strings.NewReplacer("|", `\|`, "\r\n", "<br>", "\n", "<br>").Replace(row[c])
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", width) + "\n")
		}
	}
	return b.String()
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + ". " + b
}

type notebook struct {
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
	Cells []struct {
		Type    string          `json:"cell_type"`
		Source  json.RawMessage `json:"source"`
		Outputs []struct {
			Text      json.RawMessage            `json:"text"`
			Data      map[string]json.RawMessage `json:"data"`
			Traceback []string                   `json:"traceback"`
		} `json:"outputs"`
	} `json:"cells"`
}

// readNotebook writes a notebook as text: prose, code, what the code printed.
func readNotebook(d *document, text string) bool {
	var nb notebook
	if json.Unmarshal([]byte(text), &nb) != nil || nb.Cells == nil {
		return false
	}
	lang := cleanInfo(nb.Metadata.Language.Name)
	if lang == "" {
		lang = cleanInfo(nb.Metadata.Kernel.Language)
	}
	var parts []string
	for _, c := range nb.Cells {
		src := lines(c.Source)
		switch c.Type {
		case "markdown":
			parts = append(parts, src)
		case "code":
			parts = append(parts, strings.TrimSuffix(fenced(src, lang), "\n"))
			for _, o := range c.Outputs {
				out := lines(o.Text)
				if out == "" {
					out = lines(o.Data["text/plain"])
				}
				if out == "" {
					out = strings.Join(o.Traceback, "\n")
				}
				if out = stripControls(out); strings.TrimSpace(out) != "" {
					parts = append(parts, "Output:\n\n"+strings.TrimSuffix(fenced(out, ""), "\n"))
				}
			}
		default:
			parts = append(parts, strings.TrimSuffix(fenced(src, ""), "\n"))
		}
	}
	d.Markdown = strings.Join(parts, "\n\n") + "\n"
	d.Plain = d.Markdown
	d.Headings = markdownHeadings(d.Markdown)
	if len(d.Headings) > 0 {
		d.Title = d.Headings[0]
	}
	return true
}

// cleanInfo makes a name fit to stand on a fence.
func cleanInfo(s string) string {
	if len(s) > 24 || strings.ContainsAny(s, "` \n\t") {
		return ""
	}
	return strings.ToLower(s)
}

// lines reads what a notebook keeps as a string or a list of strings.
func lines(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	return strings.Join(list, "")
}

// stripControls removes terminal escapes and other control characters.
func stripControls(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i = skipEscape(s, i)
			continue
		}
		if c := s[i]; c >= 0x20 && c != 0x7f || c == '\n' || c == '\t' {
			b.WriteByte(c)
		}
		i++
	}
	return b.String()
}

func skipEscape(s string, i int) int {
	i++
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '[':
		for i++; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
		}
		return min(i+1, len(s))
	case ']', 'P', '_', '^':
		for i++; i < len(s); i++ {
			if s[i] == 7 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return i
	}
	return i + 1
}
