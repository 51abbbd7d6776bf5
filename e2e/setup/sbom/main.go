// Command sbom prints a software bill of materials in CycloneDX's JSON: what a binary contains, as the binary itself
// tells it. The result depends on the binary alone.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl"`
	Hashes     []digest   `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type digest struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY [FOLDER OF THE EMBEDDED ASSETS]")
		os.Exit(2)
	}
	assets := ""
	if len(os.Args) == 3 {
		assets = os.Args[2]
	}
	if err := write(os.Stdout, os.Args[1], assets); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(to io.Writer, binary, assets string) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read what %s was built from: %w", binary, err)
	}
	d := bill(info, sha256.Sum256(content))
	if assets != "" {
		ui, err := swaggerUI(assets)
		if err != nil {
			return err
		}
		d.add(ui)
	}
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

// bill returns the document of a binary with this digest.
func bill(info *buildinfo.BuildInfo, sum [32]byte) *document {
	main := module(info.Main)
	main.Type, main.Hashes = "application", []digest{{"SHA-256", hex.EncodeToString(sum[:])}}
	d := &document{Format: "CycloneDX", Spec: "1.5", Version: 1, Serial: serial(sum)}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.time":
			d.Metadata.Timestamp = s.Value
		case "vcs.revision", "vcs.modified", "GOOS", "GOARCH", "CGO_ENABLED", "-tags", "-ldflags", "-trimpath":
			main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	d.Metadata.Component = main
	d.Dependencies = []dependency{{Ref: main.Ref, On: []string{}}}
	d.add(module(debug.Module{Path: "std", Version: strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if strings.HasPrefix(m.Path, "./") { // a folder of this repository
			continue
		}
		d.add(module(*m))
	}
	return d
}

// add adds a part of the binary.
func (d *document) add(c component) {
	d.Components = append(d.Components, c)
	d.Dependencies[0].On = append(d.Dependencies[0].On, c.Ref)
	slices.Sort(d.Dependencies[0].On)
	slices.SortFunc(d.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
}

// module returns a Go module. The sum in go.sum is no digest of a file, so it is a property.
func module(m debug.Module) component {
	purl := "pkg:golang/" + m.Path
	if m.Version != "" {
		purl += "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	}
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}

// serial returns a UUID of version 8 from a digest.
func serial(sum [32]byte) string {
	u := slices.Clone(sum[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

var uiVersion = regexp.MustCompile(`PACKAGE_VERSION:"([0-9A-Za-z.+-]+)"`)

// maxAsset bounds the uncompressed page.
const maxAsset = 32 << 20

// swaggerUI returns the page of the API document, which is embedded and no Go module.
func swaggerUI(assets string) (component, error) {
	f, err := os.Open(assets + "/swagger-ui-bundle.js.gz")
	if err != nil {
		return component{}, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return component{}, fmt.Errorf("read the page of the API document: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxAsset))
	if err != nil {
		return component{}, fmt.Errorf("read the page of the API document: %w", err)
	}
	found := uiVersion.FindSubmatch(text)
	if found == nil {
		return component{}, fmt.Errorf("%s tells no version of swagger-ui", f.Name())
	}
	version := string(found[1])
	purl := "pkg:npm/swagger-ui-dist@" + version
	return component{Type: "library", Ref: purl, Name: "swagger-ui-dist", Version: version, PURL: purl}, nil
}
