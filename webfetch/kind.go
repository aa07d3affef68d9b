package webfetch

import (
	"bytes"
	"net/http"
	"path"
	"strings"
)

// effectiveType is the media type that a body is treated as: what the server
// says, unless the bytes show it to be wrong.
func effectiveType(declared string, head []byte, urlPath string) string {
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(head[:min(len(head), 1024)], "\r\n\t "), []byte("%PDF-")):
		return "application/pdf"
	case declared == "" || declared == "application/octet-stream" || declared == "binary/octet-stream" || declared == "application/unknown" || declared == "unknown/unknown":
		return sniff(head)
	case strings.HasPrefix(declared, "text/plain") && looksHTML(head):
		return "text/html"
	case isTextType(declared) && !hasBOM16(head):
		if t := magic(head); t != "" {
			return t
		}
	}
	if strings.HasSuffix(strings.ToLower(path.Ext(urlPath)), ".ipynb") && (declared == "text/plain" || isJSON(declared)) {
		return "application/x-ipynb+json"
	}
	return declared
}

func hasBOM16(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff})
}

// sniff tells the type from the bytes.
func sniff(head []byte) string {
	if t := magic(head); t != "" {
		return t
	}
	switch {
	case looksHTML(head):
		return "text/html"
	case hasBOM16(head) || textual(head):
		return "text/plain"
	}
	return "application/octet-stream"
}

// magic recognises formats that aren't text by how they begin.
func magic(head []byte) string {
	for _, m := range []struct{ prefix, kind string }{
		{"PK\x03\x04", "application/zip"},
		{"PK\x05\x06", "application/zip"},
		{"\x1f\x8b\x08", "application/gzip"},
		{"BZh", "application/x-bzip2"},
		{"\xfd7zXZ\x00", "application/x-xz"},
		{"\x28\xb5\x2f\xfd", "application/zstd"},
		{"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
		{"Rar!\x1a\x07", "application/vnd.rar"},
		{"\x00asm", "application/wasm"},
		{"wOFF", "font/woff"},
		{"wOF2", "font/woff2"},
		{"\x7fELF", "application/x-elf"},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"},
		{"SQLite format 3\x00", "application/vnd.sqlite3"},
		{"\xca\xfe\xba\xbe", "application/java-vm"},
	} {
		if bytes.HasPrefix(head, []byte(m.prefix)) && (m.prefix != "BZh" || !textual(head)) {
			return m.kind
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "application/x-tar"
	}
	t, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case strings.HasPrefix(t, "image/"), strings.HasPrefix(t, "audio/"), strings.HasPrefix(t, "video/"), t == "application/pdf", t == "application/x-rar-compressed":
		if !textual(head) {
			return t
		}
	}
	return ""
}

func looksHTML(head []byte) bool {
	b := bytes.ToLower(bytes.TrimLeft(head[:min(len(head), 1024)], "\ufeff\xef\xbb\xbf \t\r\n"))
	if rest, ok := bytes.CutPrefix(b, []byte("<!--")); ok {
		if _, after, ok := bytes.Cut(rest, []byte("-->")); ok {
			b = bytes.TrimLeft(after, " \t\r\n")
		}
	}
	for _, p := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	return false
}

func isHTML(t string) bool { return t == "text/html" || t == "application/xhtml+xml" }

func isJSON(t string) bool {
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json") || t == "application/x-ndjson" || t == "application/jsonl" || t == "application/ndjson"
}

func isXML(t string) bool {
	return t == "application/xml" || t == "text/xml" || strings.HasSuffix(t, "+xml")
}

func isMarkdown(t string) bool {
	return t == "text/markdown" || t == "text/x-markdown" || t == "text/vnd.daringfireball.markdown"
}

// isTextType reports whether a type is read as text. What nobody has said to be
// binary but is textual counts too, see readBody.
func isTextType(t string) bool {
	if strings.HasPrefix(t, "text/") || isHTML(t) || isJSON(t) || isXML(t) || t == "image/svg+xml" {
		return true
	}
	switch t {
	case "application/javascript", "application/x-javascript", "application/ecmascript", "application/typescript", "application/yaml",
		"application/x-yaml", "application/toml", "application/x-sh", "application/x-shellscript", "application/sql", "application/graphql",
		"application/x-www-form-urlencoded", "application/x-httpd-php", "application/x-python", "application/x-perl", "application/x-ruby",
		"application/x-tex", "application/x-latex", "application/x-diff", "application/x-patch", "application/rtf", "application/x-subrip",
		"application/pgp-signature", "application/x-ipynb+json", "message/rfc822", "application/mbox":
		return true
	}
	return false
}

// binaryKind names what a body that isn't text is.
func binaryKind(t string) string {
	main, _, _ := strings.Cut(t, "/")
	switch {
	case main == "image" || main == "audio" || main == "video":
		return main
	case t == "application/pdf":
		return "pdf"
	}
	return "binary"
}

// fenceLanguage names the language of a source file by its type or its name;
// "" for prose.
func fenceLanguage(t, urlPath string) string {
	ext := strings.TrimPrefix(strings.ToLower(path.Ext(urlPath)), ".")
	const same = " c cpp cs css dart diff go graphql groovy hcl html ini java js json jsx kt lua m makefile mk nix patch php pl ps1 py r rb rs sass scala scss sh sql swift tf toml ts tsx vb vue xml yaml zig "
	switch ext {
	case "yml":
		return "yaml"
	case "bash", "zsh":
		return "sh"
	case "h":
		return "c"
	case "cc", "cxx", "hpp", "hh":
		return "cpp"
	case "mjs", "cjs":
		return "js"
	case "patch":
		return "diff"
	}
	if ext != "" && strings.Contains(same, " "+ext+" ") {
		return ext
	}
	switch strings.ToLower(path.Base(urlPath)) {
	case "makefile":
		return "makefile"
	case "dockerfile":
		return "dockerfile"
	case "go.mod", "go.sum":
		return ""
	}
	switch t {
	case "text/css":
		return "css"
	case "text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript":
		return "js"
	case "text/x-python", "application/x-python":
		return "python"
	case "text/x-diff", "text/x-patch", "application/x-diff":
		return "diff"
	case "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml":
		return "yaml"
	case "application/toml":
		return "toml"
	case "application/x-sh", "text/x-sh", "application/x-shellscript":
		return "sh"
	case "application/sql":
		return "sql"
	case "text/x-go":
		return "go"
	case "text/x-c", "text/x-csrc":
		return "c"
	case "text/x-rust":
		return "rust"
	}
	return ""
}
