/// The serializers that have short names: `.bytes`, `.data`, `.nothing`, `.file(…)`, `.raw`, `.text`, `.valueAndResponse(…)`, and those that
/// other serializers are made of.
///
/// ``JSONResponseSerializer`` and ``PropertyListResponseSerializer`` have many settings, and stand by themselves.
public enum ResponseSerializers {}
