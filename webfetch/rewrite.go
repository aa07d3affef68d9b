package webfetch

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// rewrite replaces the page that shows a file by the file itself, on hosts of
// source code, and returns the address it replaced, "" if it didn't.
func (f *Fetcher) rewrite(a *address) string {
	if f.opt.KeepURLs {
		return ""
	}
	to := rewritten(hostOf(a.url), strings.Split(strings.TrimPrefix(a.url.Pathname(), "/"), "/"))
	if to == "" || a.url.Search() != "" {
		return ""
	}
	u, err := whatwg.Parse(to)
	if err != nil {
		return ""
	}
	from := a.href()
	a.url = u
	return from
}

func rewritten(host string, p []string) string {
	switch host {
	case "github.com", "www.github.com":
		if len(p) >= 5 && p[2] == "blob" {
			return "https://raw.githubusercontent.com/" + p[0] + "/" + p[1] + "/" + strings.Join(p[3:], "/")
		}
	case "gist.github.com":
		if len(p) == 2 && len(p[1]) >= 20 {
			return "https://gist.githubusercontent.com/" + p[0] + "/" + p[1] + "/raw"
		}
	case "gitlab.com":
		for i := 2; i+2 < len(p); i++ {
			if p[i] == "-" && p[i+1] == "blob" {
				p[i+1] = "raw"
				return "https://gitlab.com/" + strings.Join(p, "/")
			}
		}
	case "bitbucket.org":
		if len(p) >= 5 && p[2] == "src" {
			p[2] = "raw"
			return "https://bitbucket.org/" + strings.Join(p, "/")
		}
	case "codeberg.org":
		if len(p) >= 6 && p[2] == "src" {
			p[2] = "raw"
			return "https://codeberg.org/" + strings.Join(p, "/")
		}
	}
	return ""
}
