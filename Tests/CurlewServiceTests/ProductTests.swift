#if Service
import Configuration
import Curlew
import CurlewService
import Metrics
import ServiceLifecycle
import Testing
import Tracing
#endif
