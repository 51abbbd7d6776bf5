package saml

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
)

// The same configuration gives the same bytes: there is no validUntil, because nothing in the description expires.
func (p *Provider) Metadata(context.Context) ([]byte, error) {
	doc := etree.NewDocument()
	doc.CreateProcInst("xml", `version="1.0" encoding="UTF-8"`)
	root := doc.CreateElement("md:EntityDescriptor")
	root.CreateAttr("xmlns:md", nsMetadata)
	root.CreateAttr("entityID", p.sp.entityID)
	sp := root.CreateElement("md:SPSSODescriptor")
	sp.CreateAttr("AuthnRequestsSigned", strconv.FormatBool(p.sp.pair != nil))
	sp.CreateAttr("WantAssertionsSigned", "true")
	sp.CreateAttr("protocolSupportEnumeration", nsProtocol)
	if p.sp.pair != nil {
		for _, use := range []string{"signing", "encryption"} {
			describeKey(sp, use, p.sp.pair.cert.Raw)
		}
	}
	acs := sp.CreateElement("md:AssertionConsumerService")
	acs.CreateAttr("Binding", saml.HTTPPostBinding)
	acs.CreateAttr("Location", p.sp.acs)
	acs.CreateAttr("index", "0")
	acs.CreateAttr("isDefault", "true")
	doc.Indent(2)
	b, err := doc.WriteToBytes()
	if err != nil {
		return nil, fmt.Errorf("write saml metadata: %w", err)
	}
	return b, nil
}

func describeKey(sp *etree.Element, use string, cert []byte) {
	key := sp.CreateElement("md:KeyDescriptor")
	key.CreateAttr("use", use)
	info := key.CreateElement("ds:KeyInfo")
	info.CreateAttr("xmlns:ds", nsSignature)
	info.CreateElement("ds:X509Data").CreateElement("ds:X509Certificate").SetText(base64.StdEncoding.EncodeToString(cert))
	if use != "encryption" {
		return
	}
	for _, method := range []string{aes256GCM, aes192GCM, aes128GCM, oaepMGF1} {
		key.CreateElement("md:EncryptionMethod").CreateAttr("Algorithm", method)
	}
}
