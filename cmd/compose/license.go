package compose

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/writ-automation/writ/ports/system"
)

// VendorKey sets the public key that licence files are signed by, as 32 bytes in base64. It belongs to the build: no
// flag sets it.
func VendorKey(text string) Option { return Option{vendorKey: text} }

// VendorKeyOf returns the key of the options, the zero value for none.
func VendorKeyOf(options []Option) (system.VendorKey, error) {
	text := ""
	for _, o := range options {
		text = cmp.Or(o.vendorKey, text)
	}
	key, err := system.ParseVendorKey(text)
	if err != nil {
		return key, fmt.Errorf("the vendor key of this build: %w", err)
	}
	return key, nil
}

// licenseSource reads the licence file of the server.
func (s *Settings) licenseSource() (system.LicenseSource, error) {
	key, err := VendorKeyOf(s.Options)
	if err != nil || s.LicenseFile == "" {
		return system.LicenseSource{Key: key}, err
	}
	return system.LicenseSource{Key: key, Read: func() ([]byte, error) {
		f, err := os.Open(s.LicenseFile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, system.MaxLicenseFile+1)) // too large is refused by the format
	}}, nil
}
