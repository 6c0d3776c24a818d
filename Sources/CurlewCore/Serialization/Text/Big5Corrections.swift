/// The characters of Big5 that the C library's BIG5-HKSCS lacks or decodes differently, by the index big5 of the WHATWG
/// Encoding Standard.
enum Big5Corrections {
    /// The two bytes of each character, and its scalar.
    static let all: [(pair: UInt16, scalar: UInt32)] = text.split(whereSeparator: \.isWhitespace).compactMap { entry in
        guard let pair = UInt16(entry.prefix(4), radix: 16), let scalar = entry.unicodeScalars.dropFirst(4).first else {
            return nil
        }
        return (pair, scalar.value)
    }

    private static let text = """
        8E69箸 8E6F簆 8E7E糎 8EAB緒 8EB4縝 8ECD者 8ED0耨 8F57菁 8F69蒨 8F6E萏 8FCB覦 8FCC覩 8FFE起 906D都 907A銹 90DC靜 90F1響 91BF鼖
        9244蔃 92AF兙 92B0兛 92B1兝 92B2兞 92C8鍮 92D1瑹 9447浧 94CA禛 95D9邗 9644靝 96ED瀞 96FC嬨 9B76爁 9B78矗 9B7B纇 9BC6駖 9BDE釔
        9BEC惞 9BF6澶 9C42輶 9C53侻 9C62營 9C68鄄 9C6B鷰 9C77菏 9CBC尐 9CBD秣 9CD0婧 9D57輋 9D5A筑 9DC4拐 9EA9恢 9EEF痹 9EFD汊 9F60鬮
        9F66鼗 9FCB僭 9FD8弌 A063蠏 A077拎 A0D5瑨 A0DF煢 A0E4牐 A145‧ A14E﹑ A15A╴ A1C2¯ A1C3￣ A1C5ˍ A1E3～ A1F2⊕ A1F3⊙ A1FE／
        A240＼ A241∕ A242﹨ A244￥ A246￠ A247￡ A2CC十 A2CE卅 A3C0␀ A3C1␁ A3C2␂ A3C3␃ A3C4␄ A3C5␅ A3C6␆ A3C7␇ A3C8␈ A3C9␉
        A3CA␊ A3CB␋ A3CC␌ A3CD␍ A3CE␎ A3CF␏ A3D0␐ A3D1␑ A3D2␒ A3D3␓ A3D4␔ A3D5␕ A3D6␖ A3D7␗ A3D8␘ A3D9␙ A3DA␚ A3DB␛
        A3DC␜ A3DD␝ A3DE␞ A3DF␟ A3E0␡ A3E1€ C6CF廴 C6D3无 C6D5癶 C6D7隶 C6DE〃 C6DF仝 FA5F倩 FA66偽 FABD包 FAC5卄 FAD5卿 FB48嘅
        FBB8婷 FBF3幵 FBF9廐 FC4F彘 FC6C悤 FCB9撐 FCE2晴 FCF1杞 FDB7沜 FDB8渝 FDBB港 FDF1煮 FE52猪 FE6F瑜 FEAA瓩 FEDD砉
        """
}
