package pdftext

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
)

// A cmap tells the text of character codes.
type cmap struct {
	single map[int]string
	ranges []cmapRange
}

type cmapRange struct {
	from, to int
	text     string
}

const maxMappings = 1 << 17

func readCMap(data []byte) *cmap {
	m := &cmap{single: map[int]string{}}
	l := &lexer{b: data}
	var args []any
	for !l.done() {
		v := l.value(0)
		o, ok := v.(op)
		if !ok {
			if len(args) < 4096 {
				args = append(args, v)
			}
			continue
		}
		switch o {
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, ok1 := args[i].(str)
				to, ok2 := args[i+1].(str)
				if ok1 && ok2 && len(m.single) < maxMappings {
					m.single[codeOf(string(from))] = utf16be(string(to))
				}
			}
		case "endbfrange":
			m.addRanges(args)
		}
		args = args[:0]
	}
	return m
}

func (m *cmap) addRanges(args []any) {
	for i := 0; i+2 < len(args); i += 3 {
		from, ok1 := args[i].(str)
		to, ok2 := args[i+1].(str)
		if !ok1 || !ok2 {
			continue
		}
		a, b := codeOf(string(from)), codeOf(string(to))
		switch t := args[i+2].(type) {
		case str:
			if len(m.ranges) < maxMappings {
				m.ranges = append(m.ranges, cmapRange{a, b, utf16be(string(t))})
			}
		case array:
			for j, v := range t {
				if s, ok := v.(str); ok && a+j <= b && len(m.single) < maxMappings {
					m.single[a+j] = utf16be(string(s))
				}
			}
		}
	}
}

func codeOf(s string) int {
	n := 0
	for i := range min(len(s), 4) {
		n = n<<8 | int(s[i])
	}
	return n
}

func (m *cmap) has(code int) bool { return m.text(code) != "" }

func (m *cmap) text(code int) string {
	if s, ok := m.single[code]; ok {
		return s
	}
	i := slices.IndexFunc(m.ranges, func(r cmapRange) bool { return code >= r.from && code <= r.to })
	if i < 0 {
		return ""
	}
	r := m.ranges[i]
	u := utf16.Encode([]rune(r.text))
	if len(u) == 0 {
		return ""
	}
	u[len(u)-1] += uint16(code - r.from)
	s := string(utf16.Decode(u))
	m.single[code] = s
	return s
}

// glyphNames lists names of glyphs and what they show: those of the standard
// Latin character set, of TeX's fonts, and Greek.
const glyphNames = `space=  exclam=! quotedbl=" numbersign=# dollar=$ percent=% ampersand=& quotesingle=' parenleft=( parenright=) asterisk=* plus=+
comma=, hyphen=- period=. slash=/ zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 colon=: semicolon=; less=< equal==
greater=> question=? at=@ bracketleft=[ backslash=\ bracketright=] asciicircum=^ underscore=_ grave=` + "`" + ` braceleft={ bar=| braceright=}
asciitilde=~ exclamdown=¡ cent=¢ sterling=£ currency=¤ yen=¥ brokenbar=¦ section=§ dieresis=¨ copyright=© ordfeminine=ª guillemotleft=«
logicalnot=¬ registered=® macron=¯ degree=° plusminus=± twosuperior=² threesuperior=³ acute=´ mu=µ paragraph=¶ periodcentered=· cedilla=¸
onesuperior=¹ ordmasculine=º guillemotright=» onequarter=¼ onehalf=½ threequarters=¾ questiondown=¿ Agrave=À Aacute=Á Acircumflex=Â Atilde=Ã
Adieresis=Ä Aring=Å AE=Æ Ccedilla=Ç Egrave=È Eacute=É Ecircumflex=Ê Edieresis=Ë Igrave=Ì Iacute=Í Icircumflex=Î Idieresis=Ï Eth=Ð Ntilde=Ñ
Ograve=Ò Oacute=Ó Ocircumflex=Ô Otilde=Õ Odieresis=Ö multiply=× Oslash=Ø Ugrave=Ù Uacute=Ú Ucircumflex=Û Udieresis=Ü Yacute=Ý Thorn=Þ
germandbls=ß agrave=à aacute=á acircumflex=â atilde=ã adieresis=ä aring=å ae=æ ccedilla=ç egrave=è eacute=é ecircumflex=ê edieresis=ë igrave=ì
iacute=í icircumflex=î idieresis=ï eth=ð ntilde=ñ ograve=ò oacute=ó ocircumflex=ô otilde=õ odieresis=ö divide=÷ oslash=ø ugrave=ù uacute=ú
ucircumflex=û udieresis=ü yacute=ý thorn=þ ydieresis=ÿ Lslash=Ł lslash=ł OE=Œ oe=œ Scaron=Š scaron=š Zcaron=Ž zcaron=ž Ydieresis=Ÿ florin=ƒ
dotlessi=ı ff=ff fi=fi fl=fl ffi=ffi ffl=ffl endash=– emdash=— quoteleft=‘ quoteright=’ quotesinglbase=‚ quotedblleft=“ quotedblright=” quotedblbase=„
dagger=† daggerdbl=‡ bullet=• ellipsis=… perthousand=‰ guilsinglleft=‹ guilsinglright=› fraction=⁄ Euro=€ trademark=™ minus=− nbspace=  softhyphen=-
Cacute=Ć cacute=ć Ccaron=Č ccaron=č dcaron=ď Ecaron=Ě ecaron=ě Eogonek=Ę eogonek=ę aogonek=ą Aogonek=Ą gbreve=ğ Gbreve=Ğ Idotaccent=İ nacute=ń
ncaron=ň rcaron=ř Rcaron=Ř sacute=ś Sacute=Ś scedilla=ş Scedilla=Ş tcaron=ť uring=ů zacute=ź zdotaccent=ż Zdotaccent=Ż ohungarumlaut=ő uhungarumlaut=ű
alpha=α beta=β gamma=γ delta=δ epsilon=ε epsilon1=ε zeta=ζ eta=η theta=θ iota=ι kappa=κ lambda=λ nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=φ
phi1=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω infinity=∞ lessequal=≤ greaterequal=≥
notequal=≠ approxequal=≈ element=∈ summation=∑ product=∏ integral=∫ radical=√ partialdiff=∂ arrowright=→ arrowleft=← arrowdblright=⇒ asteriskmath=∗
periodcentered=· circlemultiply=⊗ union=∪ intersection=∩ similar=∼ prime=′ negationslash≠ bardbl=‖ angbracketleft=⟨ angbracketright=⟩`

var glyphTable = sync.OnceValue(func() map[string]string {
	t := map[string]string{}
	for f := range strings.FieldsSeq(glyphNames) {
		if n, s, ok := strings.Cut(f, "="); ok {
			if s == "" {
				s = " "
			}
			t[n] = s
		}
	}
	return t
})

// glyphText is what a glyph of this name shows.
func glyphText(n string) string {
	n, _, _ = strings.Cut(n, ".")
	if len(n) == 1 {
		return n
	}
	if s, ok := glyphTable()[n]; ok {
		return s
	}
	hex := ""
	switch {
	case strings.HasPrefix(n, "uni") && len(n) >= 7:
		hex = n[3:7]
	case strings.HasPrefix(n, "u") && len(n) >= 5 && len(n) <= 7:
		hex = n[1:]
	}
	if c, err := strconv.ParseUint(hex, 16, 21); err == nil && c > 0 {
		return string(rune(c))
	}
	if a, b, ok := strings.Cut(n, "_"); ok {
		return glyphText(a) + glyphText(b)
	}
	return ""
}
