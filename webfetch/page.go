package webfetch

import (
	"html"
	"strings"
)

// A Page is what a call returns.
type Page struct {
	RequestedURL  string   `json:"requested_url"`
	URLCorrected  string   `json:"url_corrected,omitempty"`
	RewrittenFrom string   `json:"rewritten_from,omitempty"`
	FinalURL      string   `json:"final_url"`
	Canonical     string   `json:"canonical_url,omitempty"`
	AlternateURL  string   `json:"alternate_url,omitempty"`
	Status        int      `json:"status_code"`
	ContentType   string   `json:"source_content_type,omitempty"`
	Charset       string   `json:"charset,omitempty"`
	ETag          string   `json:"etag,omitempty"`
	LastModified  string   `json:"last_modified,omitempty"`
	ContentLength int64    `json:"content_length,omitempty"`
	Filename      string   `json:"filename,omitempty"`
	BinaryKind    string   `json:"binary_kind,omitempty"`
	Width         int      `json:"width,omitempty"`
	Height        int      `json:"height,omitempty"`
	Headings      []string `json:"headings,omitempty"`
	Title         string   `json:"title,omitempty"`
	SourceKind    string   `json:"source_kind,omitempty"`
	UsedLLMs      bool     `json:"used_llms_txt"`
	LLMsURL       string   `json:"llms_txt_url,omitempty"`
	Extracted     bool     `json:"extracted_main"`
	RedirectChain []Hop    `json:"redirect_chain,omitempty"`
	Upgraded      bool     `json:"upgraded_to_https"`
	LLMsError     string   `json:"llms_probe_error,omitempty"`
	Revalidated   bool     `json:"cache_revalidated,omitempty"`
	CacheHit      bool     `json:"cache_hit"`
	CacheStale    bool     `json:"cache_stale,omitempty"`
	Upstream      int      `json:"upstream_status_code,omitempty"`
	Truncated     bool     `json:"truncated"`
	TruncatedWhy  string   `json:"truncated_reason,omitempty"`
	Words         int      `json:"word_count"`
	Signals       []string `json:"quality_signals,omitempty"`
	HiddenRemoved int      `json:"hidden_removed,omitempty"`
	DecodedAs     string   `json:"decoded_charset,omitempty"`
	DecodeGuessed bool     `json:"decode_fallback,omitempty"`
	DecodeWarning string   `json:"decode_warning,omitempty"`
	ContentSignal string   `json:"content_signal,omitempty"`
	RobotsTag     string   `json:"robots_tag,omitempty"`
	SSRFCheck     string   `json:"ssrf_check,omitempty"`
	FragmentFound *bool    `json:"fragment_found,omitempty"`
	Limit         int      `json:"download_limit_bytes,omitempty"`
	MetadataOnly  bool     `json:"binary_metadata_only,omitempty"`
	SavedPath     string   `json:"saved_path,omitempty"`

	InputTruncated bool   `json:"secondary_model_input_truncated,omitempty"`
	InputChars     int    `json:"secondary_model_input_chars,omitempty"`
	SourceChars    int    `json:"secondary_model_source_chars,omitempty"`
	Model          string `json:"secondary_model,omitempty"`
	SkippedReason  string `json:"secondary_model_skipped_reason,omitempty"`
	ModelError     string `json:"secondary_model_error,omitempty"`

	StartIndex int    `json:"start_index,omitempty"`
	NextIndex  int    `json:"next_index,omitempty"` // 0 at the end
	Total      int    `json:"total_chars,omitempty"`
	Content    string `json:"content"`

	retrieval retrieval
	isHTML    bool // the content is HTML, in which metadata is a comment
	binary    bool
}

// Metadata returns the frontmatter alone.
func (p *Page) Metadata() string {
	var f frontmatter
	f.add("requested_url", p.RequestedURL)
	f.add("url_corrected", p.URLCorrected)
	f.add("rewritten_from", p.RewrittenFrom)
	f.add("final_url", p.FinalURL)
	f.add("canonical_url", p.Canonical)
	f.add("alternate_url", p.AlternateURL)
	f.add("status_code", p.Status)
	f.add("source_content_type", p.ContentType)
	f.add("charset", p.Charset)
	f.add("etag", p.ETag)
	f.add("last_modified", p.LastModified)
	f.add("content_length", p.ContentLength)
	f.add("filename", p.Filename)
	if p.binary {
		p.binaryMetadata(&f)
		return f.String()
	}
	f.list("headings", p.Headings)
	f.add("title", p.Title)
	f.add("source_kind", p.SourceKind)
	f.addAlways("used_llms_txt", p.UsedLLMs)
	f.add("llms_txt_url", p.LLMsURL)
	f.addAlways("extracted_main", p.Extracted)
	f.list("redirect_chain", hopLines(p.RedirectChain))
	f.addAlways("upgraded_to_https", p.Upgraded)
	f.add("llms_probe_error", p.LLMsError)
	p.cacheMetadata(&f)
	f.addAlways("truncated", p.Truncated)
	f.add("truncated_reason", p.TruncatedWhy)
	f.addAlways("word_count", p.Words)
	f.list("quality_signals", p.Signals)
	f.add("hidden_removed", p.HiddenRemoved)
	f.add("decoded_charset", p.DecodedAs)
	f.add("decode_fallback", p.DecodeGuessed)
	f.add("decode_warning", p.DecodeWarning)
	f.add("content_signal", p.ContentSignal)
	f.add("robots_tag", p.RobotsTag)
	f.add("ssrf_check", p.SSRFCheck)
	if p.FragmentFound != nil {
		f.addAlways("fragment_found", *p.FragmentFound)
	}
	f.add("secondary_model_input_truncated", p.InputTruncated)
	f.add("secondary_model_input_chars", p.InputChars)
	f.add("secondary_model_source_chars", p.SourceChars)
	f.add("secondary_model", p.Model)
	f.add("secondary_model_skipped_reason", p.SkippedReason)
	f.add("secondary_model_error", p.ModelError)
	return f.String()
}

func (p *Page) cacheMetadata(f *frontmatter) {
	f.add("cache_revalidated", p.Revalidated)
	f.addAlways("cache_hit", p.CacheHit)
	f.add("cache_stale", p.CacheStale)
	f.add("upstream_status_code", p.Upstream)
}

func (p *Page) binaryMetadata(f *frontmatter) {
	f.add("binary_kind", p.BinaryKind)
	f.add("width", p.Width)
	f.add("height", p.Height)
	f.list("redirect_chain", hopLines(p.RedirectChain))
	f.addAlways("upgraded_to_https", p.Upgraded)
	p.cacheMetadata(f)
	f.addAlways("truncated", p.Truncated)
	f.add("download_limit_bytes", p.Limit)
	f.add("binary_metadata_only", p.MetadataOnly)
	f.add("saved_path", p.SavedPath)
	f.add("ssrf_check", p.SSRFCheck)
}

// String returns the content with its metadata before it.
func (p *Page) String() string {
	meta := p.Metadata()
	switch {
	case p.isHTML:
		decl := ""
		body := p.Content
		if strings.HasPrefix(body, "<?xml") {
			if i := strings.Index(body, "?>"); i >= 0 {
				decl, body = body[:i+2]+"\n", strings.TrimLeft(body[i+2:], "\n")
			}
		}
		return decl + inComment(meta) + "\n" + body
	case hasFrontmatter(p.Content):
		return meta + "Source content:\n\n" + p.Content
	}
	return meta + p.Content
}

// preformatted shows text in an HTML answer.
func preformatted(s string) string { return "<pre>" + html.EscapeString(s) + "</pre>\n" }
